import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { tools } from '../../generated/tools.ts'

// A minimal Koa server that answers tools/list, the baseline of the tool server.

const result = { tools }
const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
const app = new Koa()
app.use((context) => {
  context.type = 'application/json'
  context.body = body
})

const handle = app.callback()
const server = createServer((request, response) => void handle(request, response))
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
