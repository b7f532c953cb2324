"""Text for a terminal: lines for each thing a command shows, and a bar."""
