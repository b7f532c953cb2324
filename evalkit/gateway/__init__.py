"""The only way from an agent to a model: holds the credential, counts, caps."""
