import type { Socket } from 'node:net'
import { expect } from 'chai'
import { bufferedBytes } from '../support/buffered.ts'
import { completion } from '../support/chat-answers.ts'
import { makeFolder } from '../support/folder.ts'
import { startOwnEndpoint } from '../support/own-endpoint.ts'
import { openConnection } from '../support/raw-connection.ts'
import { startServer } from '../support/server-process.ts'
import { until } from '../support/until.ts'

const file = '/openapi.yaml'
const mebibyte = 1024 * 1024

/** Opens connections that request the largest file several times at once, and read nothing. */
async function askAndRest(url: string, connections: number, times: number): Promise<Socket[]> {
  const asked = `GET ${file} HTTP/1.1\r\nhost: gateway\r\n\r\n`.repeat(times)
  const sockets = await Promise.all(Array.from({ length: connections }, () => openConnection(url)))
  for (const socket of sockets) socket.write(asked)
  return sockets
}

describe('files that clients do not read to their end', () => {
  const open: Socket[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy()
  })

  it('use no memory per client', async () => {
    const folder = makeFolder()
    const server = await startServer({ folder: folder.path })
    const numbers = async () => {
      const text = await (await fetch(`${server.url}/metrics`)).text()
      const read = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1])
      return {
        external: read('nodejs_external_memory_bytes'),
        resident: read('process_resident_memory_bytes'),
        answered: read('gateway_request_duration_seconds_count{method="GET",status="200"}'),
      }
    }
    const length = (await (await fetch(server.url + file)).bytes()).length
    const before = await numbers()
    open.push(...(await askAndRest(server.url, 60, 10)))
    await until('all are answered', async () => (await numbers()).answered >= before.answered + 60)
    const after = await numbers()
    server.kill('SIGKILL')
    await server.ended
    folder.remove()
    expect(length).to.be.greaterThan(mebibyte / 2)
    expect(after.external - before.external).to.be.lessThan(2 * length)
    expect(after.resident - before.resident).to.be.lessThan(40 * mebibyte)
  })

  it('leave the memory for requests to other requests', async () => {
    await using own = await startOwnEndpoint({ limits: { buffered_bytes_max: mebibyte } })
    const { gateway, upstream } = own
    upstream.answer(completion('Hi.'))
    await (await gateway.fetch(file, { key: null })).bytes()
    open.push(...(await askAndRest(gateway.url, 20, 5)))
    await until('all are answered', () => gateway.logText().split(file).length > 20)
    expect(await bufferedBytes(gateway)).to.equal(0)
    const content = 'x'.repeat(200_000)
    const answered = await own.chat({ messages: [{ role: 'user', content }] })
    expect(answered.status).to.equal(200)
  })
})
