import { expect } from 'chai'
import type { components } from '../../generated/types.ts'
import { createVisitor, onwardOf, type Visitor } from '../oauth/pages/visitor.ts'
import { connectSession } from '../support/mcp-client.ts'
import { openMessageStream } from '../support/message-stream.ts'
import { callback, createPkce, postForm, registered } from '../support/oauth-client.ts'
import { startReplicas, startWorkers, type OneAddress } from '../support/one-address.ts'
import { programPath } from '../support/program-path.ts'
import { until } from '../support/until.ts'

type ApiKey = components['schemas']['ApiKey']
type Door = { url: string }
type Tokens = { access_token: string; refresh_token: string }

/** The documented limit for ending a revoked connection in all processes. */
const promisedMs = 2000
/** Makes each request use a new connection, so that requests reach different workers. */
const anew = { connection: 'close' }

const setups = [
  { name: 'two gateways on one PostgreSQL and one Redis', start: startReplicas, areReplicas: true },
  { name: 'two workers on one SQLite', start: startWorkers, areReplicas: false },
]
for (const { name, start, areReplicas } of setups) {
  describe(`an OAuth connection through the common address of ${name}`, function () {
    let all: OneAddress
    let a: Door
    let b: Door
    let clientId: string
    before(async function () {
      programPath('redis-server', this)
      if (areReplicas)
        for (const program of ['postgres', 'nginx'] as const) programPath(program, this)
      all = await start()
      ;[a, b] = all.doors
      clientId = (await registered(a, { redirect_uris: [callback] })).client_id
    })
    after(() => all?.stop())

    /** Begins a sign-in at one address; the sign-in can continue at another address. */
    const beginAt = async (first: Door) => {
      const door = { url: first.url }
      const visitor = createVisitor(door, { origin: all.origin, always: anew })
      const { verifier, challenge } = createPkce()
      const query = new URLSearchParams({
        client_id: clientId,
        redirect_uri: callback,
        response_type: 'code',
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      const { status, html } = await visitor.open(`/oauth/authorize?${String(query)}`)
      expect(status, html).to.equal(200)
      return { door, visitor, verifier }
    }
    type SignIn = Awaited<ReturnType<typeof beginAt>>
    const useKey = async ({ door, visitor }: SignIn, at: Door) => {
      door.url = at.url
      const { html } = await visitor.press('use_key', { api_key: all.testKey })
      expect(html).to.contain('Connect this application?')
    }
    const codeOf = async (visitor: Visitor) => {
      const back = await visitor.ask(onwardOf(visitor.shown()))
      const location = back.headers.get('location') ?? expect.fail(await back.text())
      return new URL(location).searchParams.get('code') ?? expect.fail(location)
    }
    /** Approves the request at the replica `at`; returns the fields for the exchange of the code. */
    const decide = async ({ door, visitor, verifier }: SignIn, at: Door) => {
      door.url = at.url
      await visitor.press('allow')
      return {
        grant_type: 'authorization_code',
        client_id: clientId,
        code: await codeOf(visitor),
        redirect_uri: callback,
        code_verifier: verifier,
      }
    }
    const codeFor = async (first: Door, other: Door) => {
      const signIn = await beginAt(first)
      await useKey(signIn, other)
      return decide(signIn, other)
    }
    const ask = async (at: Door, fields: Record<string, string>) => {
      const answer = await postForm(at, '/oauth/token', fields, anew)
      return { status: answer.status, body: (await answer.json()) as Tokens & { error?: string } }
    }
    const tokensOf = async (at: Door, fields: Record<string, string>): Promise<Tokens> => {
      const { status, body } = await ask(at, fields)
      expect(status, JSON.stringify(body)).to.equal(200)
      return body
    }
    const renewal = (token: string) => ({
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: token,
    })
    const call = (at: Door, path: string, key: string, init: RequestInit = {}) =>
      fetch(at.url + path, {
        ...init,
        headers: { authorization: `Bearer ${key}`, ...anew, ...(init.headers as object) },
      })
    const statusOf = async (at: Door, key: string) => {
      const answer = await call(at, '/v1/models', key)
      await answer.text()
      return answer.status
    }

    it('can be made by concurrent sign-ins that begin at one process and continue at the other', async () => {
      const both = await Promise.all([a, b].map(beginAt))
      const fields = await Promise.all(
        both.map(async (signIn, index) => {
          const [other, first] = index === 0 ? [b, a] : [a, b]
          await useKey(signIn, other)
          return tokensOf(first, await decide(signIn, other))
        }),
      )
      for (const { access_token: key } of fields) {
        for (const door of [a, b, { url: all.origin }]) {
          expect(await statusOf(door, key)).to.equal(200)
          const { client } = await connectSession(door, key)
          expect((await client.listTools()).tools).to.have.length.greaterThan(4)
          await client.close()
        }
      }
    })

    it('issues its tokens once when four requests exchange the code at the same time', async () => {
      for (let round = 0; round < 5; round++) {
        const fields = await codeFor(a, b)
        const answers = await Promise.all([a, b, a, b].map((at) => ask(at, fields)))
        const [first, ...others] = answers.toSorted((one, other) => one.status - other.status)
        expect(first!.status, JSON.stringify(first!.body)).to.equal(200)
        for (const { status, body } of others)
          expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
        for (const at of [a, b]) expect(await statusOf(at, first!.body.access_token)).to.equal(200)
      }
    })

    it('can be renewed at both processes at the same time', async () => {
      const { refresh_token: token } = await tokensOf(a, await codeFor(a, b))
      const answers = await Promise.all([a, b, a, b].map((at) => tokensOf(at, renewal(token))))
      for (const { access_token: key, refresh_token: next } of answers) {
        for (const at of [a, b]) expect(await statusOf(at, key)).to.equal(200)
        await tokensOf(b, renewal(next))
      }
    })

    const chat = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gpt-5-mini',
        messages: [{ role: 'user', content: 'sandbox:slow-stream=500' }],
        stream: true,
      }),
    }
    const events = { headers: { accept: 'text/event-stream' } }
    const connectionId = async () => {
      const answer = await call(a, '/api/keys?limit=100', all.adminKey)
      const { data } = (await answer.json()) as {
        data: Pick<ApiKey, 'id' | 'client' | 'revoked_at'>[]
      }
      return data.find((one) => one.client?.id === clientId && one.revoked_at === null)!.id
    }
    const endings: [by: string, end: (token: string) => Promise<number>][] = [
      [
        'an administrator',
        async () => {
          const id = await connectionId()
          return (await call(a, `/api/keys/${id}`, all.adminKey, { method: 'DELETE' })).status
        },
      ],
      [
        'its client',
        async (token) =>
          (await postForm(a, '/oauth/revoke', { client_id: clientId, token }, anew)).status,
      ],
    ]
    // Tests the command with replicas only: with SQLite a command cannot notify the processes.
    if (areReplicas)
      endings.push([
        'a command',
        async () => {
          await all.run('keys', 'revoke', await connectionId())
          return 200
        },
      ])
    for (const [by, end] of endings) {
      it(`ends its streams at the other process within two seconds when ${by} revokes it`, async () => {
        const { access_token: key, refresh_token: token } = await tokensOf(a, await codeFor(a, b))
        const streams = await Promise.all(
          [chat, events, chat, events].map((init) =>
            openMessageStream(() =>
              call(b, init === chat ? '/v1/chat/completions' : '/mcp', key, init),
            ),
          ),
        )
        expect(streams.map(({ response }) => response.status)).to.deep.equal([200, 200, 200, 200])
        const chats = [streams[0]!, streams[2]!]
        await until('both chats stream', () =>
          chats.every((stream) => stream.text().includes('data: ')),
        )
        expect(await end(key)).to.equal(200)
        const from = performance.now()
        await Promise.all(streams.map(({ ended }) => ended))
        for (const stream of chats)
          expect(stream.messages().at(-1)).to.have.nested.property('error.code', 'invalid_token')
        for (const at of [a, b, a, b])
          await until('its token is refused', async () => (await statusOf(at, key)) === 401)
        expect(performance.now() - from).to.be.below(promisedMs)
        expect((await ask(b, renewal(token))).body.error).to.equal('invalid_grant')
        const mcp = await call(b, '/mcp', key, events)
        expect(mcp.status).to.equal(401)
        expect(mcp.headers.get('www-authenticate')).to.contain('invalid_token')
      })
    }

    if (!areReplicas) {
      it('can be made by a sign-in that began before the signing keys were rotated', async () => {
        const underWay = [await beginAt(a), await beginAt(b)]
        await all.run('oauth', 'rotate-keys')
        const [first, second] = underWay
        await useKey(first!, b)
        const { access_token: key } = await tokensOf(a, await decide(first!, a))
        await useKey(second!, a)
        await tokensOf(b, await decide(second!, b))
        for (const at of [a, b]) expect(await statusOf(at, key)).to.equal(200)
      })
      return
    }
    it('survives restarts of each process in turn, even while it is being made', async () => {
      const front = { url: all.origin }
      let { access_token: key, refresh_token: token } = await tokensOf(a, await codeFor(a, b))
      const load = { isOver: false, rounds: 0 }
      const callers = [
        (async () => {
          while (!load.isOver) {
            expect(await statusOf(front, key)).to.equal(200)
            const next = await tokensOf(front, renewal(token))
            ;({ access_token: key, refresh_token: token } = next)
          }
        })(),
        (async () => {
          while (!load.isOver) {
            await tokensOf(front, await codeFor(front, front))
            load.rounds++
          }
        })(),
      ]
      // One sign-in begins with the old keys and ends at a process with the new keys; another vice versa.
      const open = [await beginAt(a), await beginAt(b)]
      await all.run('oauth', 'rotate-keys')
      await all.restart!(1)
      await useKey(open[0]!, b)
      const young = await beginAt(b)
      await useKey(young, a)
      await all.restart!(0)
      await useKey(open[1]!, a)
      load.isOver = true
      await Promise.all(callers)
      expect(load.rounds).to.be.greaterThan(3)
      for (const signIn of [...open, young]) {
        const made = await tokensOf(b, await decide(signIn, b))
        expect(await statusOf(a, made.access_token)).to.equal(200)
      }
      expect(await statusOf(a, key)).to.equal(200)
    })
  })
}
