"""`python -m gpuvet_evals`."""

import sys

from gpuvet_evals.cli import main

if __name__ == "__main__":
    sys.exit(main())
