import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type OpenAI from 'openai'
import { digestOf } from '../../src/accounts/api-key.ts'
import type { components } from '../../generated/types.ts'
import { completion } from './chat-answers.ts'
import { startGateway, type TestGateway } from './gateway.ts'
import { openAiClient } from './openai-client.ts'
import { openAiDouble, openAiKey } from './openai-upstream.ts'
import { startUpstream, type Upstream } from './upstream.ts'

export type CassetteFile = components['schemas']['CassetteFile']

export const prompt = 'A lighthouse of the purple heron in a storm'

/** A gateway that records, the doubles of its vendors, and a gateway without vendors. */
export type Cassettes = {
  openai: Upstream
  deepseek: Upstream
  recorder: TestGateway
  player: TestGateway
  /** Sets the usual answers of the vendors. */
  reset(): void
  stop(): Promise<void>
}

/**
 * Starts both gateways.
 *
 * @example
 * const house = await startCassettes()
 * const live = await chat(await recording(house.recorder, 'one'))
 * const replayed = await chat(await replaying(house, 'one'))
 */
export async function startCassettes(): Promise<Cassettes> {
  const [openai, deepseek] = await Promise.all([startUpstream(), startUpstream()])
  const recorder = await startGateway({
    variables: {
      OPENAI_API_KEY: openAiKey,
      OPENAI_BASE_URL: openai.url,
      DEEPSEEK_API_KEY: 'sk-deepseek-0123456789abcdef',
      DEEPSEEK_BASE_URL: deepseek.url,
    },
    file: { limits: { route_tries_max: 1 } },
  })
  const player = await startPlayer()
  return {
    openai,
    deepseek,
    recorder,
    player,
    reset: () => {
      openai.answer(openAiDouble(() => ({ text: ['Hel', 'lo.'] })))
      deepseek.answer(completion('second'))
    },
    stop: async () => {
      await Promise.all([recorder.stop(), player.stop()])
      await Promise.all([openai.stop(), deepseek.stop()])
    },
  }
}

/** A gateway without vendors, whose pauses are longer than the time limit of a test. */
export function startPlayer(): Promise<TestGateway> {
  return startGateway({
    file: { limits: { route_tries_max: 1 } },
    bounds: { taskPollMs: 600_000, retryDelayMs: 600_000, retryDelayMaxMs: 600_000 },
  })
}

/** A client whose calls are recorded. */
export async function recording(gateway: TestGateway, cassette: string): Promise<OpenAI> {
  return openAiClient(gateway, await gateway.createKey('live', { row: { cassette } }))
}

/** A client of a new key that replays a cassette. */
export async function player(gateway: TestGateway, cassette: string): Promise<OpenAI> {
  return openAiClient(gateway, await gateway.createKey('test', { row: { cassette } }))
}

type Gateways = Pick<Cassettes, 'recorder' | 'player'>

/** A client of the gateway without vendors, for what was recorded. */
export async function replaying(gateways: Gateways, cassette: string): Promise<OpenAI> {
  await imported(gateways.player, cassette, await exported(gateways.recorder, cassette))
  return player(gateways.player, cassette)
}

export async function exported(gateway: TestGateway, cassette: string): Promise<CassetteFile> {
  const response = await gateway.fetch(`/api/cassettes/${cassette}`, { key: gateway.adminKey })
  expect(response.status).to.equal(200)
  return (await response.json()) as CassetteFile
}

export async function imported(
  gateway: TestGateway,
  cassette: string,
  file: CassetteFile,
): Promise<void> {
  const init = { method: 'PUT', key: gateway.adminKey }
  const response = await gateway.post(`/api/cassettes/${cassette}`, file, init)
  expect(response.status, await response.text()).to.equal(200)
}

export function chat(client: OpenAI, content = prompt, more: object = {}) {
  const request = { model: 'gpt-5.4-mini', messages: [{ role: 'user' as const, content }] }
  return client.chat.completions.create({ ...request, ...more }).withResponse()
}

/** Inserts an empty cassette of the account of a key; returns its place in a path. */
async function storedCassette({ db }: Pick<TestGateway, 'db'>, key: string) {
  const keys = db.selectFrom('api_keys').select('account_id').where('digest', '=', digestOf(key))
  const { account_id } = await keys.executeTakeFirstOrThrow()
  const name = `tape-${randomUUID()}`
  const row = { id: name, account_id, name, interactions: 0, bytes: 0, is_complete: 1 }
  const times = { created_at: 1, updated_at: Date.parse('2026-11-22') }
  const insert = db.insertInto('cassettes').values({ ...row, ...times })
  await insert.execute()
  return { path: { name } }
}

/** Requests of the operations on cassettes, for `prepared.ts`. */
export const cassetteRequests = {
  exportCassette: storedCassette,
  importCassette: async () => {
    const body = { object: 'cassette_file', version: 1, interactions: [] }
    return { path: { name: 'imported' }, body }
  },
  deleteCassette: storedCassette,
}

/** The error of a call that fails. */
export function failureOf(calling: Promise<unknown>) {
  return calling.then(
    () => expect.fail('The call was answered.'),
    (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
  )
}
