"""A real Envoy in front of an app of its own (a second listener that says hello), asking the daemon for each request."""
import glob
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'e2e'))
FOUND = glob.glob(os.path.join(HERE, '..', '..', '.cache', 'envoy-1.40.0', 'lib', 'python3*', 'site-packages', 'envoy',
                               '_bin', 'envoy'))
if not FOUND:
    print('SKIPPED: Envoy 1.40.0 is not in .cache (tests/e2e_envoy/install)')
    raise SystemExit(77)

LISTENER = '''  - name: %(name)s
    address: {socket_address: {address: 127.0.0.1, port_value: %(port)d}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: %(name)s
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
%(routes)s
          http_filters:
%(filters)s          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
'''
FILTER = '''          - name: envoy.filters.http.ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: edge
              timeout: %(timeout)s
              failure_mode_deny: %(deny)s
              enable_x_ratelimit_headers: DRAFT_VERSION_03
              rate_limit_service: {transport_api_version: V3, grpc_service: {envoy_grpc: {cluster_name: rls}}}
'''
CLUSTER = '''  - name: %(name)s
    type: STATIC
    connect_timeout: 0.5s
%(more)s    load_assignment: {cluster_name: %(name)s, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: \
{address: 127.0.0.1, port_value: %(port)d}}}}]}]}
'''
HTTP2 = '''    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": \
type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: \
{http2_protocol_options: {}}}
'''
# /native asks the limits file by key and route; /cost takes hits from a header; / asks the domain edge by user.
ROUTES = '''              - match: {prefix: "/native"}
                route: {cluster: app, rate_limits: [{actions: [{request_headers: {header_name: x-user, \
descriptor_key: key}}, {generic_key: {descriptor_key: route, descriptor_value: "native"}}]}]}
                typed_per_filter_config: {envoy.filters.http.ratelimit: {"@type": \
type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute, domain: sluice}}
              - match: {prefix: "/cost"}
                route: {cluster: app}
                typed_per_filter_config: {envoy.filters.http.ratelimit: {"@type": \
type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute, rate_limits: [{actions: \
[{request_headers: {header_name: x-user, descriptor_key: user}}], hits_addend: {format: "%REQ(x-cost)%"}}]}}
              - match: {prefix: "/"}
                route: {cluster: app, rate_limits: [{actions: [{request_headers: {header_name: x-user, \
descriptor_key: user}}]}]}'''
HELLO = '              - match: {prefix: "/"}\n                direct_response: {status: 200, body: {inline_string: "hello"}}'


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Envoy:
    def __init__(self, rls_port, deny, timeout='5s'):
        self.port, app, self.admin = free_port(), free_port(), free_port()
        folder = tempfile.mkdtemp(prefix='sluice-envoy-')
        config = os.path.join(folder, 'envoy.yaml')
        values = {'deny': 'true' if deny else 'false', 'timeout': timeout}
        with open(config, 'w', encoding='utf-8') as out:
            out.write('static_resources:\n  listeners:\n'
                      + LISTENER % {'name': 'edge', 'port': self.port, 'routes': ROUTES, 'filters': FILTER % values}
                      + LISTENER % {'name': 'app', 'port': app, 'routes': HELLO, 'filters': ''} + '  clusters:\n'
                      + CLUSTER % {'name': 'app', 'port': app, 'more': ''}
                      + CLUSTER % {'name': 'rls', 'port': rls_port, 'more': HTTP2}
                      + 'admin: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}\n' % self.admin)
        self.process = subprocess.Popen([FOUND[0], '-c', config, '--disable-hot-restart', '--concurrency', '2', '-l',
                                         'warning', '--log-path', config + '.log'])
        deadline = time.monotonic() + 60
        while self.get('/ready', port=self.admin)[0] != 200:
            assert self.process.poll() is None and time.monotonic() < deadline, 'Envoy did not start'
            time.sleep(0.1)

    def get(self, path='/', user='u', port=None, **headers):
        """(status, headers); status 0: no connection."""
        lines = ''.join(f'{name.replace("_", "-")}: {value}\r\n' for name, value in headers.items())
        data = b''
        try:
            with socket.create_connection(('127.0.0.1', port or self.port), timeout=20) as peer:
                peer.sendall(f'GET {path} HTTP/1.1\r\nHost: x\r\nx-user: {user}\r\n{lines}Connection: close\r\n\r\n'.encode())
                while more := peer.recv(65536):
                    data += more
        except ConnectionError:
            return 0, {}
        if not data:
            return 0, {}
        head = data.split(b'\r\n\r\n')[0].decode().split('\r\n')
        pairs = (line.split(':', 1) for line in head[1:])
        return int(head[0].split()[1]), {name.lower(): value.strip() for name, value in pairs}

    def stop(self):
        self.process.terminate()
        self.process.wait()
