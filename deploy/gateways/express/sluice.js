// Middleware for Express (or Connect, or plain node): asks Sluice before each request.
//
//   app.use(sluice({ url: 'http://127.0.0.1:7080', key: (req) => req.ip }));
//
// When Sluice cannot be asked within timeoutMs, the request passes; `closed: true` answers 503.
const FIELDS = ['ratelimit', 'ratelimit-policy', 'retry-after'];

module.exports = function sluice({ url, key, route, timeoutMs = 250, closed = false }) {
  return async function ask(req, res, next) {
    let answer;
    try {
      answer = await fetch(url + '/v1/should-allow', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          key: key(req),
          route: route ? route(req) : req.method + ' ' + req.url.split('?')[0],
        }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      await answer.text();
    } catch {
      answer = undefined;
    }
    for (const name of FIELDS) {
      if (answer?.headers.has(name)) res.setHeader(name, answer.headers.get(name));
    }
    if (answer?.status === 429) {
      res.statusCode = 429;
      return res.end('slow down\n');
    }
    if (answer?.status !== 200 && closed) {
      res.statusCode = 503;
      return res.end('the rate limiter cannot be asked\n');
    }
    return next();
  };
};
