"""The command `convcnp`, and `python -m convcnp`."""

from __future__ import annotations

import signal
import sys

from convcnp.errors import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C at any moment ends it without a traceback."""
    interruptions = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interruptions.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
        signal.signal(signal.SIGINT, interrupt)
    try:
        from convcnp.cli import main as run

        run()
    # An import that is interrupted may fail with another error than the interruption.
    except (KeyboardInterrupt, Exception) as error:
        if not interruptions and not isinstance(error, KeyboardInterrupt):
            raise
        sys.stderr.write("Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
