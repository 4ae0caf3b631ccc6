"""The type checker of the tests: beartype, where an int will do for a float (PEP 484)."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
