/* Requests a path of the gateway in this container, such as /health; the exit code is 0 if the status is 200. */
import { get } from 'node:http'

const { HOST = '127.0.0.1', PORT = '8080' } = process.env
// A wildcard address is replaced by the loopback address.
const host = HOST.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1')
const path = process.argv[2] ?? '/health'
const end = (code) => process.exit(code)
get({ host, port: PORT, path, timeout: 4000 }, ({ statusCode }) => end(statusCode === 200 ? 0 : 1))
  .on('timeout', () => end(1))
  .on('error', () => end(1))
