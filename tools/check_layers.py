#!/usr/bin/env python3
"""docs/layers.txt holds: no room of src/ includes one that it was not granted, and public headers never include src/."""
import re

import project

QUOTED = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
PUBLIC = re.compile(r"^\s*#\s*include\s+<rota/([^>]+)>")
ANY = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def read_layers(path):
    grants, owners = {}, {}
    for line in path.read_text().splitlines():
        line = line.partition("#")[0].strip()
        if "->" in line:
            room, _, granted = line.partition("->")
            grants[room.strip()] = set(granted.split()) | {room.strip()}
        elif "=" in line:
            header, _, room = line.partition("=")
            owners[header.strip().strip("<>")] = room.strip()
    return grants, owners


def owner_of(header, grants, owners):
    """The room that a public header belongs to, or None if it is for all."""
    folder = header.partition("/")[0]
    return owners.get(header) or (folder if "/" in header and folder in grants else None)


def check_source(path, room, grants, owners):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if hit := QUOTED.match(line):
            folder, slash, _ = hit[1].partition("/")
            if not slash:
                yield f'{path}:{number}: spell the room: "{room}/{hit[1]}"'
            elif folder not in grants[room]:
                yield f"{path}:{number}: {room} may not include {folder}"
        elif hit := PUBLIC.match(line):
            owner = owner_of(hit[1], grants, owners)
            if owner and owner not in grants[room]:
                yield f"{path}:{number}: {room} may not include <rota/{hit[1]}>, which belongs to {owner}"


def check_public(path, root):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        hit = ANY.match(line)
        if not hit:
            continue
        if hit[1] == '"' or (root / "src" / hit[2]).exists():
            yield f"{path}:{number}: a public header includes only <rota/...> and the system, not {hit[2]}"
        elif hit[2].startswith("rota/") and not (root / "include" / hit[2]).exists():
            yield f"{path}:{number}: there is no <{hit[2]}>"


def main():
    root = project.root_from_arguments()
    grants, owners = read_layers(root / "docs/layers.txt")
    complaints = [f"docs/layers.txt: {room} is granted {other}, which is no room"
                  for room, granted in grants.items() for other in sorted(granted - set(grants))]
    sources = project.cxx_files(root, "src")
    for path in sources:
        room = path.relative_to(root / "src").parts[0]
        if room not in grants:
            complaints.append(f"{path}: docs/layers.txt knows no room {room}")
            continue
        complaints += check_source(path, room, grants, owners)
    headers = project.cxx_files(root, "include")
    for path in headers:
        complaints += check_public(path, root)
    project.finish(complaints, f"{len(sources)} files in {len(grants)} rooms, {len(headers)} public headers")


if __name__ == "__main__":
    main()
