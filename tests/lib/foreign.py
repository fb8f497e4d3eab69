# SPDX-License-Identifier: Apache-2.0
"""Servers that aren't ours, as Debian ships them, each with a configuration of
its own in a folder of the test's: command, port, and what tells the truth about
them."""
import os
import random
import time

from lib import run

APPS = run.ROOT / "tests" / "servers" / "apps"
WORDS = "store block symbol merge level write read index compact tenant".split()


def write_text(path, size_bytes, seed=1):
    """A file of words: what a compressor has work with."""
    rng = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ""
    while len(text) < size_bytes:
        text += rng.choice(WORDS) + str(rng.randint(0, 999)) + " "
    path.write_text(text[:size_bytes])
    os.chmod(path.parent, 0o755)
    os.chmod(path, 0o644)


def python_http_server(folder, port):
    """`python3 -m http.server` over a small file and a folder of many."""
    write_text(folder / "site" / "small.txt", 2000)
    for number in range(1500):
        write_text(folder / "site" / "many" / f"file-{number:04d}.txt", 10)
    return [run.PYTHON, "-m", "http.server", str(port), "--bind", "127.0.0.1",
            "--directory", str(folder / "site")]


def gunicorn(port):
    """One worker with four threads around the WSGI application."""
    found, = run.need("gunicorn")
    return [found, "--worker-class", "gthread", "--threads", "4", "--workers",
            "1", "--bind", f"127.0.0.1:{port}", "--chdir", str(APPS),
            "--keep-alive", "30", "wsgi:application"]


def php(port):
    found, = run.need("php")
    return [found, "-S", f"127.0.0.1:{port}", str(APPS / "router.php")]


NGINX = """
daemon off;
{user}
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    default_type text/plain;
    keepalive_requests 100000;
    sendfile on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/site;
        location /deflate/ {{
            gzip on;
            gzip_comp_level 9;
            gzip_types text/plain;
        }}
    }}
}}
"""


def nginx(folder, port):
    """Two workers; /plain/ by sendfile, /deflate/ compressed on the fly."""
    found, = run.need("nginx")
    write_text(folder / "site" / "plain" / "file.txt", 40000)
    write_text(folder / "site" / "deflate" / "file.txt", 40000)
    user = "user www-data;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port, user=user))
    return [found, "-c", str(configuration), "-e", f"{folder}/error.log"]


APACHE = """
ServerRoot {folder}
ServerName localhost
{user}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule filter_module {modules}/mod_filter.so
LoadModule deflate_module {modules}/mod_deflate.so
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
DefaultRuntimeDir {folder}
DocumentRoot {folder}/site
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
KeepAlive On
KeepAliveTimeout 30
MaxKeepAliveRequests 0
<Directory {folder}/site>
    Require all granted
</Directory>
<Location /deflate>
    SetOutputFilter DEFLATE
</Location>
DeflateCompressionLevel 9
"""


def apache(folder, port):
    """The event MPM, one process with eight threads; paths as for nginx."""
    found, = run.need("apache2")
    write_text(folder / "site" / "plain" / "file.txt", 40000)
    write_text(folder / "site" / "deflate" / "file.txt", 40000)
    user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
    configuration = folder / "apache.conf"
    configuration.write_text(APACHE.format(
        folder=folder, port=port, user=user,
        modules="/usr/lib/apache2/modules"))
    return [found, "-DFOREGROUND", "-f", str(configuration)]


def process_cpu_ns(pid):
    """CPU time of another process and of all its threads, dead or alive:
    clock_getcpuclockid(3) as a number, as the kernel has it."""
    return time.clock_gettime_ns(((~pid) << 3) | 2)


def descendants(pid):
    found = []
    for child in run.children(pid):
        found += [child] + descendants(child)
    return found


class CpuMeter:
    """The CPU time that a program and its children use while it runs."""

    def __init__(self, pid):
        self.pids = [pid] + descendants(pid)

    def __enter__(self):
        self.begin_ns = self._read()
        return self

    def __exit__(self, *_):
        self.used_ns = self._read() - self.begin_ns

    def _read(self):
        return sum(process_cpu_ns(pid) for pid in self.pids)
