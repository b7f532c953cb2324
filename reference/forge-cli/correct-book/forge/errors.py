"""What users are told when something cannot be done."""


class Refusal(Exception):
    exit_code = 1


class Misuse(Refusal):
    exit_code = 2
