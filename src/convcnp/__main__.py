"""`python -m convcnp` is the command `convcnp`."""

from convcnp.cli import main

if __name__ == "__main__":
    main()
