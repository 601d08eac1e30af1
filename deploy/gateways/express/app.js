// The example application: npm install express; node app.js. PORT and SLUICE_URL are read from the environment.
const express = require('express');
const sluice = require('./sluice');

const app = express();
app.use(sluice({ url: process.env.SLUICE_URL || 'http://127.0.0.1:7080', key: request => request.get('x-user') || request.ip }));
app.get('/', (request, response) => response.send('hello\n'));
const server = app.listen(Number(process.env.PORT || 8080), '127.0.0.1', () => console.log(`listening ${server.address().port}`));
