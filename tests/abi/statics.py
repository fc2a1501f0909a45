"""statics.py archive.a ...: no mutable static data in the library, but for what is listed here with its reason."""
import re
import subprocess
import sys

ALLOWED = {
    # the last error is this thread's: fixed buffers without a destructor
    'error.cpp': ['last', 'callback'],
    # one BLAS in a process: its gate, and who set its thread count first
    'blas.cpp': ['gate_memory', 'buffers_lock', 'buffers', 'buffers_seen', 'scope_lock', 'scope_count', 'scope_saved', 'prepared'],
    # what the system grants this process, asked for once a second at most
    'run.cpp': ['threads_granted', 'memory_granted'],
    # which call's budget this thread counts on
    'memory.cpp': ['working_for'],
    # one team of threads in a process; whether it may open a region, how many threads the system gave; what fork() waits for
    'threads.cpp': ['team', 'inside', 'forked', 'at_fork', 'proved', 'handles'],
    # modules are never closed, so what is open is a matter of the process
    'modules.cpp': ['opened_lock', 'opened_modules()::modules', 'loading'],
    # system calls, replaced by tests that make them fail
    'files.cpp': ['system_calls()::calls'],
    # tables made at first use, const from then on (to that of derivations tests add)
    'methods.cpp': ['methods()::table'],
    'drivers.cpp': ['drivers()::table'],
    'parameters.cpp': ['core_rows()::rows', 'core_table()::table'],
    'traits.cpp': ['lifts()::table', 'derivations()::table'],
    'outputs.cpp': ['outputs()::options', 'outputs()::table'],
    'driver.cpp': ['driver_named(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)::table'],
    'table.cpp': ['lift_named(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)::table'],
    'derive.cpp': ['derive_functions()::table'],
    # the best instruction set, found once
    'isa.cpp': ['best_isa()::isa'],
    # the machine's speed, measured once, for forecasts in seconds
    'cost.cpp': ['product_rate()::rate'],
}
MUTABLE = re.compile(r'\.(bss|data(?!\.rel\.ro)|tbss|tdata)(\..*)?$')


def plain(name):
    name = re.sub(r'\[abi:\w+\]', '', name)
    return re.sub(r'mercer::|\(anonymous namespace\)::', '', name)


def statics(archive):
    listing = subprocess.run(['objdump', '-tC', archive], check=True, capture_output=True, text=True).stdout
    member = ''
    for line in listing.splitlines():
        opened = re.match(r'(\S+\.o):\s+file format', line)
        if opened:
            member = opened.group(1)
        # address, 7 columns of flags, section, size, name
        row = re.match(r'[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(.+)$', line)
        if row and 'O' in row.group(1) and MUTABLE.match(row.group(2)):
            if not row.group(3).startswith('DW.ref.'):  # the compiler's, for exceptions
                yield member, plain(row.group(3))


found, failures = 0, []
for archive in sys.argv[1:]:
    for member, name in statics(archive):
        file = next((file for file in ALLOWED if member.endswith(file + '.o')), None)
        name = re.sub(r'^guard variable for ', '', name)
        parted = re.match(r'_ZN6mercer12_GLOBAL__N_1\d+(\w+)E\.\d+$', name)  # clang splits an atomic into its parts
        name = parted.group(1) if parted else name
        if file is None or name not in ALLOWED[file]:
            failures.append(f'{member}: {name}')
        found += 1
for failure in failures:
    print('FAILED: mutable static', failure)
print(f'{found} mutable statics')
sys.exit(bool(failures) or found == 0)
