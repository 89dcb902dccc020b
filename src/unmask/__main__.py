"""`python -m unmask`."""

from unmask.cli.main import main

main()
