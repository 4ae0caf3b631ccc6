"""The command `convcnp`, and `python -m convcnp`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still starting ends it without a traceback."""
    try:
        from convcnp.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
