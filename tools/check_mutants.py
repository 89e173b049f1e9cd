#!/usr/bin/env python3
"""Every mutant of tests/mutants applies: its old text occurs exactly once where it says, and its model test exists."""
import mutant_files
import project


def check(root):
    """(complaints, how many mutants)"""
    tree = mutant_files.Tree(root)
    complaints, count = [], 0
    for path in mutant_files.paths(root):
        if not (root / f"tests/model/{path.stem}.cpp").is_file():
            complaints.append(f"{path}: there is no tests/model/{path.stem}.cpp")
        try:
            mutants = mutant_files.read(path)
        except mutant_files.Fault as fault:
            complaints.append(str(fault))
            continue
        count += len(mutants)
        for mutant in mutants:
            try:
                tree.mutated(mutant)
            except mutant_files.Fault as fault:
                complaints.append(f"{path}:{mutant.line}: {fault}")
    return complaints, count


def strangers(root):
    """Files that no tool would look at."""
    for path in sorted((root / mutant_files.FOLDER).glob("*")):
        if path.name != "README.md" and path.suffix != mutant_files.SUFFIX:
            yield f"{path}: neither README.md nor a file of mutants, *{mutant_files.SUFFIX}"


def main():
    root = project.root_from_arguments()
    complaints, count = check(root)
    project.finish([*complaints, *strangers(root)], f"{count} mutants apply")


if __name__ == "__main__":
    main()
