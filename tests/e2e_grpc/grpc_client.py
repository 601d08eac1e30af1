"""Calls over grpcio without generated code: bytes in, bytes out. Uses the daemon of the native end-to-end tests."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
try:
    import grpc
except ImportError:
    print('SKIPPED: python3-grpcio is not installed')
    raise SystemExit(77)
from native import SANITIZED, Daemon, ask_body, duration_ns, fields, main, number, response, text  # noqa: F401

LIMITS = '''
limits:
  five: {algorithm: sliding_window_log, limit: 5, window: 1h}
  three: {algorithm: fixed_window, limit: 3, window: year}
  big: {algorithm: fixed_window, limit: 999999999999999, window: year}
routes:
  "five": [five]
  "three": [three]
  "big": [big]
  "two": [five, three]
'''
SERVICE = '/sluice.v1.RateLimiter/'


def address(where):
    return f'unix:{where}' if isinstance(where, str) else '%s:%d' % where


def unary(channel, path):
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


def failure(call, message, **more):
    """(code's name, details) of a call that fails."""
    try:
        call(message, timeout=more.pop('timeout', 10), **more)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return 'OK', ''
