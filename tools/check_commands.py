#!/usr/bin/env python3
"""Every command that a document names exists: its sub-command, its options, and what it names: suites, models, targets, presets.

`./dev check --strangers` runs them (tools/strangers.py); this only reads.
"""
import commands
import project


def main():
    root = project.root_from_arguments()
    found, complaints = commands.collect(root)
    project.finish(complaints, f"{len(found)} commands that documents name")


if __name__ == "__main__":
    main()
