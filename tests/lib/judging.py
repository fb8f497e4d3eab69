# SPDX-License-Identifier: Apache-2.0
"""What a Pyroscope with its default limits says to a push: the requests that it
takes, and with which status it refuses the others. What a real one (2.2) takes
with a 200 and then loses or mends - samples without a stack, a location or a
value, ids in upper case, a string twice, no period type - is refused, too."""
import dataclasses
import email.parser
import email.policy
import functools
import gzip
import re
import urllib.parse
import zlib

from lib import profile

MOST_BODY_BYTES = 256 << 20
MOST_LABELS = 30
LONGEST_NAME = 1024
LONGEST_VALUE = 2048
BURST_BYTES = 2 << 20

INVALID, UNAUTHENTICATED = "invalid_argument", "unauthenticated"


@dataclasses.dataclass
class Push:
    """A push that was taken."""
    labels: dict        # of the series
    samples: list       # profile.Sample
    comments: list
    headers: dict
    path: str
    profile: bytes      # the pprof, not gzip'ed


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


def require(condition, message, status=400, code=INVALID):
    if not condition:
        raise Refused(status, code, message)


def _plain(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def check_labels(pairs):
    """The labels of a series as a dict."""
    labels = {pair.name: pair.value for pair in pairs}
    require(len(labels) == len(pairs), "duplicate label names")
    require(len(pairs) <= MOST_LABELS, "too many labels")
    for name, value in labels.items():
        require(0 < len(name.encode()) <= LONGEST_NAME, "label name length")
        require(len(value.encode()) <= LONGEST_VALUE, "label value length")
    require(re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*",
                         labels.get("__name__", "")), "invalid metric name")
    require(labels.get("service_name", "x"), "empty service_name")
    return labels


@functools.lru_cache(maxsize=None)
def _profile_of_bytes():
    """The message with bytes for texts: what isn't UTF-8 can be read."""
    from google.protobuf import (descriptor_pb2, descriptor_pool,
                                 message_factory)
    text, data = (descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
                  descriptor_pb2.FieldDescriptorProto.TYPE_BYTES)
    file = descriptor_pb2.FileDescriptorProto()
    profile.messages().DESCRIPTOR.CopyToProto(file)
    for message in file.message_type:
        for field in message.field:
            field.type = data if field.type == text else field.type
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    name = profile.messages().Profile.DESCRIPTOR.full_name
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName(name))


def check_texts(raw):
    for text in _profile_of_bytes().FromString(raw).string_table:
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise Refused(400, INVALID, "no UTF-8") from error


def check_profile(gzipped):
    """The samples and comments of a pprof, and its bytes."""
    from google.protobuf.message import DecodeError
    try:
        raw = _plain(gzipped)
        require(gzipped, "no profile: empty", 500, "unknown")
        check_texts(raw)
        message = profile.messages().Profile.FromString(raw)
    except (OSError, EOFError, zlib.error, DecodeError) as error:
        raise Refused(500, "unknown", f"no profile: {error}") from error
    require(len(raw) <= BURST_BYTES, "rate limit exceeded", 429,
            "resource_exhausted")
    try:
        samples, comments = profile.check_pushed(message)
    except profile.Invalid as error:
        raise Refused(400, INVALID, str(error)) from error
    return samples, comments, raw


def judge(headers, body, path):
    """The pushes in a request to PUSH. Raises Refused."""
    from google.protobuf.message import DecodeError
    require(headers.get("Content-Type") == "application/proto",
            "unsupported media type", 415, "")
    require(len(body) <= MOST_BODY_BYTES, "body too large", 413, "")
    try:
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = profile.messages("push").PushRequest.FromString(body)
    except (OSError, EOFError, zlib.error, DecodeError) as error:
        raise Refused(400, INVALID, f"no PushRequest: {error}") from error
    require(request.series, "no profiles received")
    pushes = []
    for series in request.series:
        labels = check_labels(series.labels)
        require(series.samples, "no profiles received")
        for sample in series.samples:
            pushes.append(Push(labels, *check_profile(sample.raw_profile)[:2],
                               dict(headers), path,
                               _plain(sample.raw_profile)))
    return pushes


def _check_name(name):
    """The labels in app{name=value,...}, a grammar without escapes."""
    match = re.fullmatch(r"([A-Za-z0-9_./-]+)(?:\{([^}]*)\})?", name or "")
    require(match, f"name: {name}")
    labels = {}
    for pair in (match[2] or "").split(","):
        key, _, value = pair.partition("=")
        require(not pair or re.fullmatch("[A-Za-z0-9_.]+", key.strip()),
                f"label name: {pair}")
        if pair and not key.startswith("__"):
            labels[key.strip()] = value.strip()
    labels.setdefault("service_name", match[1])
    return {"__name__": "process_cpu", "__delta__": "false", **labels}


def _parts(headers, body):
    """The files of a form, by name. What has no file name is no file."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        head + body)
    require(message.is_multipart() and not message.defects, "no form", 422)
    return {part.get_param("name", header="content-disposition"):
            part.get_payload(decode=True) for part in message.iter_parts()
            if part.get_filename()}


def judge_ingest(headers, body, path):
    """The pushes in a request to /ingest: none when it is taken and lost.
    Raises Refused, mostly with a 422."""
    query = dict(urllib.parse.parse_qsl(path.partition("?")[2],
                                        keep_blank_values=True))
    labels = _check_name(query.get("name"))
    require("Content-Encoding" not in headers, "no pprof", 422)
    if "multipart/form-data" not in headers.get("Content-Type", "") or \
            "format" in query:
        raise Refused(422, INVALID, "no pprof: a form, or text")
    parts = _parts(headers, body)
    require(not parts.get("prev_profile"), "prev_profile", 422)
    if not parts.get("profile"):
        return []
    labels["pyroscope_spy"] = query.get("spyName", "unknown")
    try:
        samples, comments, raw = check_profile(parts["profile"])
    except Refused as refused:
        status = 429 if refused.status == 429 else 422
        raise Refused(status, refused.code, str(refused)) from refused
    return [Push(labels, samples, comments, dict(headers), path, raw)]
