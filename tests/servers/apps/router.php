<?php
// SPDX-License-Identifier: Apache-2.0
// What the WSGI application does, for PHP's built-in server: /deflate/N,
// /md5/N and /sort/N spend about N ms of CPU time in one function each.

function cpu_ns(): int
{
    $u = getrusage();
    return 1000 * (1000000 * ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec'])
        + $u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']);
}

function work(string $name, string $data, array $numbers): void
{
    if ($name === 'deflate') {
        gzcompress($data, 6);
    } elseif ($name === 'md5') {
        md5($data);
    } else {
        sort($numbers);
    }
}

$begin = cpu_ns();
[, $name, $milliseconds] = explode('/', $_SERVER['REQUEST_URI']);
$data = '';
$numbers = [];
for ($i = 0; $i < 20000; $i++) {
    $numbers[] = $i * $i % 7919;
    $data .= $i * $i % 7919 . ' ';
}
while (cpu_ns() - $begin < $milliseconds * 1000000) {
    work($name, $data, $numbers);
}
header('Content-Type: text/plain');
header('X-Cpu-Ns: ' . (cpu_ns() - $begin));
echo "$name\n";
