#!/usr/bin/env python3
"""Every mutant of tests/mutants applies: its old text occurs exactly once where it says, and its model test exists.

Every file with memory orders has a model that answers for them, or says why not; and every order that is listed exists.
"""
import mutant_files
import project
import switched_sources
import weakened_orders


def check_mutants(path, content, tree):
    for mutant in content.mutants:
        try:
            tree.mutated(mutant)
        except mutant_files.Fault as fault:
            yield f"{path}:{mutant.line}: {fault}"


def strangers(root):
    """Files that no tool would look at."""
    known = {"README.md", *(file.rpartition("/")[2] for file in
                            (mutant_files.EXEMPT, switched_sources.HEADER, switched_sources.SOURCE))}
    for path in sorted((root / mutant_files.FOLDER).glob("*")):
        if path.name not in known and path.suffix != mutant_files.SUFFIX:
            yield f"{path}: neither README.md nor a file of mutants, *{mutant_files.SUFFIX}"


def main():
    root = project.root_from_arguments()
    tree = mutant_files.Tree(root)
    complaints, contents = list(strangers(root)), []
    for path in mutant_files.paths(root):
        if not (root / f"tests/model/{path.stem}.cpp").is_file():
            complaints.append(f"{path}: there is no tests/model/{path.stem}.cpp")
        try:
            contents.append(mutant_files.read(path))
            complaints += check_mutants(path, contents[-1], tree)
        except mutant_files.Fault as fault:
            complaints.append(str(fault))
    try:
        plan = weakened_orders.plan(root, contents)
    except mutant_files.Fault as fault:
        project.finish([*complaints, str(fault)], "")
    unsettled = sum(entry.kind == "unsettled" for entry in plan.listed.values())
    project.finish([*complaints, *plan.complaints],
                   f"{sum(len(c.mutants) for c in contents)} mutants apply; {len(plan.variants)} weaker orders, "
                   f"{len(plan.listed)} of them listed ({unsettled} unsettled)")


if __name__ == "__main__":
    main()
