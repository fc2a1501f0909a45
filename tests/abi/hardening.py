"""hardening.py FILE...: what the linker and the compiler were to do for each object that is shipped was done.

Relocations are read-only once it is loaded (RELRO and BIND_NOW), no stack is executable, no code is written to, no library has a
run path; in all of them together there are stack protectors and checked functions of libc (FORTIFY).
"""
import subprocess
import sys

failures = []


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def check(path):
    segments, dynamic = readelf("-l", path), readelf("-d", path)
    stack = [line for line in segments.splitlines() if "GNU_STACK" in line]
    wanted = {
        "GNU_RELRO": "GNU_RELRO" in segments,
        "BIND_NOW": "BIND_NOW" in dynamic or "NOW" in dynamic,
        "a stack that is data": bool(stack) and " RWE " not in stack[0],
        "no text relocations": "TEXTREL" not in dynamic,
        # the command has one: to the library of its own prefix
        "no run path": ".so" not in path or ("RPATH" not in dynamic and "RUNPATH" not in dynamic),
        "position independence": "DYN (" in readelf("-h", path),
    }
    failures.extend(f"{path}: {name} is missing" for name, holds in wanted.items() if not holds)
    return readelf("--dyn-syms", path)


def main(paths):
    symbols = "".join(check(path) for path in paths)
    for name in ("__stack_chk_fail", "_chk@"):
        if name not in symbols:
            failures.append(f"none of the objects uses {name}")
    for failure in failures:
        print(failure)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
