"""Attacks of a hostile program beside or instead of its work. `fake.py` calls these at three places."""

import ctypes
import fcntl
import glob
import os
import resource
import shutil
import signal
import socket
import sys
import threading
import time

probe = os.getppid()
# A contender's folder is in `contenders`; the store and the builds are beside that.
WORKPLACE = os.path.realpath("../..")


def burn(seconds):
    """CPU time: a busy host gives less than the clock shows."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def from_a_child(action, *, wait):
    """Does it in a process of its own session; without `wait` it is an orphan by then."""
    child = os.fork()
    if child == 0:
        os.setsid()
        action()
        os._exit(0)
    if wait:
        os.waitpid(child, 0)
        time.sleep(0.1)


def forge():
    for number in range(3):
        try:
            with open(f"/proc/{probe}/fd/{number}", "w") as pipe:
                pipe.write('{"type": "phase", "t_ns": 1, "name": "forged", "ns": 1}\n')
        except OSError:
            pass


def overwrite_memory():
    try:
        with open(f"/proc/{probe}/mem", "r+b", buffering=0) as memory:
            memory.read(1)
    except OSError:
        return
    print("::phase name=memory ns=1", flush=True)


def cgroup_root():
    with open("/proc/self/mountinfo") as mounts:
        fields = [line.split() for line in mounts]
    (root,) = {each[4] for each in fields if "cgroup2" in each[each.index("-") :]}
    return root


def own_cgroup():
    with open("/proc/self/cgroup") as memberships:
        (own,) = [line[3:].strip() for line in memberships if line.startswith("0::")]
    return own


def join_cgroup(folder):
    with open(f"{folder}/cgroup.procs", "w") as procs:
        procs.write("0")


def leave_cgroup():
    join_cgroup(cgroup_root())
    burn(0.3)


def leave_cgroup_briefly():
    """Children that no sample sees: the probe is asked for none but those of marks."""

    def act():
        join_cgroup(cgroup_root())
        burn(0.02)

    for _ in range(20):
        from_a_child(act, wait=True)


def leave_cgroup_for_its_namesake():
    other = f"{cgroup_root()}/ringside-fake-{os.getpid()}"
    folder = other + own_cgroup()
    os.makedirs(folder)
    join_cgroup(folder)
    burn(0.3)
    join_cgroup(cgroup_root())
    while folder != other:
        os.rmdir(folder)
        folder = os.path.dirname(folder)
    os.rmdir(other)


def hide_in_deep_cgroups():
    os.chdir(cgroup_root() + own_cgroup())
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    join_cgroup(".")
    burn(0.3)


def take_all_cpus():
    os.sched_setaffinity(0, range(os.cpu_count()))
    burn(0.3)


def take_all_cpus_in_a_thread():
    thread = threading.Thread(target=take_all_cpus)
    thread.start()
    thread.join()


def start_threads():
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def fork_without_end():
    while True:
        try:
            os.fork()
        except OSError:
            pass


def flood_stderr():
    while True:
        sys.stderr.write("x" * 65536)


def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1000)


def wait_unasked():
    print("::await name=coffee", flush=True)
    sys.stdin.readline()
    burn(0.2)


def wait_again():
    print("::await name=spawned", flush=True)
    sys.stdin.readline()


def kill_probe():
    os.kill(probe, signal.SIGKILL)
    time.sleep(1000)


def stop_probe():
    os.kill(probe, signal.SIGSTOP)
    time.sleep(1000)


def signal_without_sender():
    """The kernel sends it when something can be read."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(read_end, fcntl.F_SETOWN, probe)
    fcntl.fcntl(read_end, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC)
    os.write(write_end, b"x")
    time.sleep(0.1)


def signal_as_another():
    """With a number of its own choice as the sender's: that of process 1."""
    information = (ctypes.c_int * 32)(signal.SIGTERM, 0, -1, 0, 1)
    syscalls = {"x86_64": 129, "aarch64": 138}
    ctypes.CDLL(None).syscall(syscalls[os.uname().machine], probe, signal.SIGTERM, information)
    time.sleep(0.1)


def blind_probe():
    """While it is stopped, it takes no samples."""
    os.kill(probe, signal.SIGSTOP)
    burn(0.1)
    os.kill(probe, signal.SIGCONT)


def stop_ringside():
    with open("/proc/%d/stat" % probe) as stat:
        ringside = int(stat.read().rpartition(")")[2].split()[1])
    # In a namespace of its own the probe has no parent.
    if ringside > 1:
        os.kill(ringside, signal.SIGSTOP)


def lower_limit(name, soft=0, hard=0):
    """The probe's limit; the probe then does work that needs it."""
    resource.prlimit(probe, getattr(resource, "RLIMIT_" + name), (soft, hard))
    time.sleep(1.2)


def make_victim():
    with open(f"/proc/{probe}/oom_score_adj", "w") as score:
        score.write("1000")


def move_thread():
    (last, *_) = sorted(map(int, os.listdir("/proc/%d/task" % probe)), reverse=True)
    os.sched_setaffinity(last, {max(os.sched_getaffinity(last))})


def keep_port():
    """A daemon that listens; its port is in a file of that name."""
    note = os.path.join(WORKPLACE, "kept-port")

    def listen():
        if os.fork() != 0:
            return
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        listener = socket.create_server(("127.0.0.1", 0))
        with open(note + ".new", "w") as file:
            file.write(str(listener.getsockname()[1]))
        os.rename(note + ".new", note)
        time.sleep(1000)

    if os.path.exists(note):
        os.unlink(note)
    from_a_child(listen, wait=True)
    while not os.path.exists(note):
        time.sleep(0.01)


def listen_meanwhile():
    """As long as it runs; the ports of all its trials are in a file."""
    listen_meanwhile.listener = socket.create_server(("127.0.0.1", 0))
    with open(os.path.join(WORKPLACE, "ports"), "a") as file:
        print(listen_meanwhile.listener.getsockname()[1], file=file)


def fill_disk():
    """A small disk of a test's, or what a limit allows; never the machine's. With `disk` a folder on that disk,
    at the start with that number only."""
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    if "start" in words:
        with open(os.path.join(WORKPLACE, "starts"), "a+") as file:
            file.write(".")
            if file.tell() != int(words["start"]):
                return
    folder = os.path.join(WORKPLACE, words.get("disk", "small-disk"))
    if not os.path.ismount(folder):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
        for _ in range(1 << 10):
            file.write(bytes(1 << 16))


def builds_of(name):
    return glob.glob(os.path.join(WORKPLACE, ".ringside", "builds", name + "-*", ""))


def overwrite_build():
    (build,) = builds_of("built")
    with open(os.path.join(build, "fake.py"), "w") as file:
        file.write("raise SystemExit('this is another program')")


def delete_build():
    for build in builds_of("cleared"):
        shutil.rmtree(build)


def delete_store():
    for path in glob.glob(os.path.join(WORKPLACE, ".ringside", "*.sqlite*")):
        os.unlink(path)


def overwrite_sources():
    with open("../overwritten/fake.py", "a") as file:
        file.write("# faster\n")


def leave_files():
    name = "ringside-fake-%d" % os.stat(WORKPLACE).st_ino
    temporary = os.environ["TMPDIR"]
    closed = os.path.join(temporary, "closed")
    os.mkdir(closed)
    for folder in ("/dev/shm", temporary, closed):
        with open(os.path.join(folder, name), "w") as file:
            file.write("left")
    os.chmod(closed, 0)
    # Whoever follows it deletes all.
    os.symlink(WORKPLACE, os.path.join(temporary, "workplace"))


def hide_memory():
    """Forty megabytes in a file that it does not map."""
    file = os.memfd_create("hidden")
    for _ in range(40):
        os.write(file, bytes(1 << 20))
    time.sleep(1)


def printing(text):
    def act():
        sys.stdout.buffer.write(text)
        sys.stdout.flush()

    return act


BEFORE = {
    "hangs-at-once": hang,
    "forks-without-end": fork_without_end,
    "starts-threads-without-end": start_threads,
    "terminates-the-probe": lambda: os.kill(probe, signal.SIGTERM),
    "interrupts-the-probe": lambda: os.kill(probe, signal.SIGINT),
    "terminates-the-probe-and-ends": lambda: from_a_child(lambda: os.kill(probe, signal.SIGTERM), wait=True),
    "stops-the-probe": lambda: (from_a_child(stop_probe, wait=False), time.sleep(2)),
    "kills-the-probe": lambda: (from_a_child(kill_probe, wait=False), time.sleep(2)),
    "has-the-kernel-signal-the-probe": signal_without_sender,
    "signals-the-probe-as-somebody-else": signal_as_another,
    "blinds-the-probe": blind_probe,
    "stops-ringside": stop_ringside,
    "slows-the-probe": lambda: os.setpriority(os.PRIO_PROCESS, probe, 19),
    "makes-the-probe-idle": lambda: os.sched_setscheduler(probe, os.SCHED_IDLE, os.sched_param(0)),
    "moves-a-thread-of-the-probe": move_thread,
    "writes-to-the-probe": forge,
    "reads-the-probes-memory": overwrite_memory,
    "lowers-the-probes-open-files": lambda: lower_limit("NOFILE"),
    "lowers-the-probes-open-files-to-ten": lambda: lower_limit("NOFILE", 10, 10),
    "lowers-the-probes-open-files-for-a-daemon": lambda: (
        lower_limit("NOFILE"),
        from_a_child(lambda: from_a_child(hang, wait=False), wait=False),
        os._exit(0),
    ),
    "lowers-the-probes-address-space": lambda: lower_limit("AS"),
    "lowers-the-probes-data": lambda: lower_limit("DATA"),
    "lowers-the-probes-stack": lambda: lower_limit("STACK"),
    "lowers-the-probes-file-size": lambda: lower_limit("FSIZE", 1 << 30, 1 << 30),
    "lowers-the-probes-cpu-time": lambda: lower_limit("CPU"),
    "lowers-the-probes-processes": lambda: lower_limit("NPROC"),
    "lowers-the-probes-locked-memory": lambda: lower_limit("MEMLOCK"),
    "moves-the-probe": lambda: os.sched_setaffinity(probe, {max(os.sched_getaffinity(probe))}),
    "unmounts-proc": lambda: ctypes.CDLL(None).umount2(b"/proc", 2),  # MNT_DETACH
    "unmounts-shared-memory": lambda: ctypes.CDLL(None).umount2(b"/dev/shm", 2),
    "makes-the-probe-a-victim": make_victim,
    "leaves-its-cgroup": leave_cgroup,
    "leaves-its-cgroup-briefly": leave_cgroup_briefly,
    "leaves-its-cgroup-for-its-namesake": leave_cgroup_for_its_namesake,
    "hides-in-deep-cgroups": hide_in_deep_cgroups,
    "keeps-a-port": keep_port,
    "listens-meanwhile": listen_meanwhile,
    "fills-the-disk": fill_disk,
    "deletes-its-folder": lambda: shutil.rmtree(os.getcwd()),
    "deletes-the-store": delete_store,
    "deletes-a-build": delete_build,
    "overwrites-a-build": overwrite_build,
    "overwrites-sources": overwrite_sources,
    "leaves-files": leave_files,
    "works-after-its-end": lambda: (os.fork() and os._exit(0)) or time.sleep(0.05),
    "takes-all-cpus": take_all_cpus,
    "takes-all-cpus-in-a-thread": take_all_cpus_in_a_thread,
}
WORKING = {
    "works": lambda: sum(number % 7 for number in range(1_000_000)),
    "hides-memory": hide_memory,
    "dawdles": lambda: time.sleep(0.4),
    "hangs-while-working": hang,
    "stops-itself": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "waits-unasked": wait_unasked,
    "waits-again": wait_again,
    "floods-stderr": flood_stderr,
    "prints-half-a-line": printing(b"::phase name=relay"),
    "prints-a-phase-without-time": printing(b"::phase name=relay\n"),
    "prints-no-number": printing(b"::phase name=relay ns=nan\n"),
    "prints-a-huge-number": printing(b"::phase name=relay ns=1e400\n"),
    "prints-a-negative-time": printing(b"::phase name=relay ns=-1\n"),
    "prints-an-unknown-word": printing(b"::surprise\n"),
    "prints-a-million-characters": printing(b"::phase name=" + b"x" * 1_000_000 + b" ns=1\n"),
    "prints-no-utf-8": printing(b"::phase name=\xff\xfe ns=1\n"),
    "prints-escapes": printing(b"::phase name=\x1b[2J ns=1\n"),
    "prints-a-result-before": printing(b"::result checksum=1 order=1\n"),
    "prints-other-lines": printing(b"hello\n"),
}
AFTER = {
    "hangs-after-its-result": hang,
    "prints-another-result": printing(b"::result checksum=1 order=1\n"),
    "ends-with-another-status": lambda: os._exit(7),
}
