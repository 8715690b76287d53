import { expect } from 'chai'
import { bodyChecks, type Check } from '../../generated/checks.js'
import { GatewayError } from '../../src/core/error.ts'
import { assertValid } from '../../src/http/check-error.ts'
import { bodySchema, operation, resolve, type Parameter, type Schema } from '../support/contract.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { pixel } from '../support/pixel.ts'
import { memberProbes, probesOf, type Probe, type Words } from '../support/probes.ts'
import { errors } from './document.ts'
import type { Subject } from './image-configs.ts'
import { errorIn, type ErrorBody } from './promised.ts'
import { inContext, toolCall } from './tool-context.ts'

export const words: Words = {
  model: 'gpt-image-2.6-sunburst',
  models: 'gpt-5-mini',
  image_url: pixel,
  url: pixel,
  family: 'claude',
  tool_call_id: toolCall.id,
  // The bytes and the type of a picture, and of a document in the Messages API.
  data: pixel.split(',')[1],
  result: pixel.split(',')[1],
  media_type: 'image/png',
  // The name of the function and of the tool that requests refer to.
  name: 'paint',
}
export const messages = [{ role: 'user', content: 'Paint a fox' }]

export type Send = (value: unknown, model: string | undefined) => Promise<Response>

/** A gateway that accepts the many calls of the probes. */
export const startPatientGateway = (): Promise<TestGateway> =>
  startGateway({
    // Configures a provider whose models, which the catalog lacks, receive every member unchanged.
    variables: { OPENROUTER_API_KEY: 'sk-or-0123456789abcdef' },
    file: { limits: { requests_per_minute: 1_000_000 } },
  })

/** Declares the tests of the bounds of an operation's body and headers. */
export function describeBounds({ id, base, models }: Subject, running: () => TestGateway): void {
  describe(`of ${id}`, () => {
    const { path, parameters = [] } = operation(id)
    const valid = { ...base, model: models[0] }
    const schema = bodySchema(operation(id))!
    // Each operation with a body has a check.
    const check = bodyChecks[id as keyof typeof bodyChecks] as Check<unknown>
    for (const [name, probes] of byMember(schema, valid, models)) {
      const send: Send = (value, model) => {
        // Keeps the model of a probe of `model`.
        const chosen = model === undefined || name === 'model' ? {} : { model }
        const body = { ...(value as object), ...chosen }
        return running().post(path, model === undefined ? body : inContext(id, body))
      }
      it(`hold for ${name}`, () => expectHeld(openProbes(probes, check), send, models))
    }

    it('hold for a body that is not an object', async () => {
      const refusal = { status: 400, param: null, code: 'invalid_value' }
      for (const body of [[], 'a fox', 42, true, null]) {
        const { status, error } = await read(await running().post(path, body))
        expect({ status, ...error }).to.include(refusal)
      }
    })

    for (const parameter of parameters.map((one) => resolve(one))) {
      it(`hold for the header ${parameter.name}`, async () => {
        // Uses a separate account, because an idempotency key belongs to one operation of an account.
        const accountId = await running().createAccount()
        const key = await running().createKey('test', { accountId })
        const init = (one: string) => ({ key, headers: { [parameter.name]: one } })
        await expectTextHeld(parameter, (one) => running().post(path, valid, init(one)))
      })
    }
  })
}

/**
 * The probes that the generated check does not decide, and of each refusal one: the others differ only in what
 * the check read, and their responses would be the same.
 */
function openProbes(probes: Probe[], check: Check<unknown>): Probe[] {
  const refused = new Set<string>()
  return probes.filter((probe) => {
    const error = refusalOf(check, probe.value)
    if (probe.allowed) return probe.isInner !== true || error !== undefined
    if (error === undefined || !isAbout(probe, error)) return true
    const same = `${error.code} ${error.param}`
    if (refused.has(same)) return false
    refused.add(same)
    return true
  })
}

function refusalOf(check: Check<unknown>, value: unknown): GatewayError | undefined {
  try {
    // The check fills defaults in place.
    assertValid(check, structuredClone(value))
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** The probes of an object by member; probes of the object itself are under `the whole`. */
export function byMember(schema: Schema, base: object, [model]: string[]): [string, Probe[]][] {
  const groups = Map.groupBy(
    memberProbes(schema, base, { ...words, model, models: model }),
    ({ at }) => /^\.(\w+)/.exec(at)?.[1] ?? 'the whole',
  )
  return [...groups]
}

export async function expectHeld(probes: Probe[], send: Send, models: string[]): Promise<void> {
  const ask = (probe: Probe) =>
    probe.allowed ? complaintIfRefused(probe, send, models) : complaintIfAllowed(probe, send)
  const found: (string | null)[] = []
  // More at once are refused as overload.
  for (let at = 0; at < probes.length; at += 300)
    found.push(...(await Promise.all(probes.slice(at, at + 300).map(ask))))
  expect(found.filter((complaint) => complaint !== null).join('\n')).to.equal('')
}

/** Members that need a stored response, or a conversation, which the probes do not have. */
const stored = /"(previous_response_id|item_reference|compaction|compaction_trigger)"|"input":null/

/** Each allowed value must be accepted by at least one model. */
async function complaintIfRefused({ value }: Probe, send: Send, models: string[]) {
  if (stored.test(JSON.stringify(value))) return null
  let answers = ''
  for (const model of models) {
    const { status, text } = await read(await send(value, model))
    if (status === 200) return null
    answers += ` ${model}: ${text}`
  }
  return `${shown(value)} is allowed, but:${answers}`
}

async function complaintIfAllowed(probe: Probe, send: Send) {
  const { status, error, text } = await read(await send(probe.value, undefined))
  if (status === 400 && isAbout(probe, error)) return null
  const { value, at, code = 'a complaint' } = probe
  return `${shown(value)} wants ${code} about ${at.slice(1)}, but: ${status} ${text}`
}

function isAbout({ at, code }: Probe, error: Pick<ErrorBody, 'param' | 'code'>): boolean {
  const isCode = code === undefined ? errors[400]!.codes.includes(error.code!) : error.code === code
  // A wrong list or item may be read as another kind, so the complaint is about its item or its type.
  return isCode && ['', '[0]', '.type'].some((more) => (error.param ?? '') === at.slice(1) + more)
}

/** Probes a query or header parameter or a field of a form, whose values are all sent as text. */
export async function expectTextHeld(
  { name, schema }: Pick<Parameter, 'name' | 'schema'>,
  send: (value: string) => Promise<Response>,
  { passingMax = Infinity } = {},
): Promise<void> {
  const probes = probesOf(schema, words, name)
  // Values of the wrong type are valid texts, so only other probes must be refused.
  const isText = resolve(schema).type === 'string' && resolve(schema).enum === undefined
  const passing = new Set(probes.filter(({ allowed }) => allowed).map(({ value }) => String(value)))
  for (const value of [...passing].slice(0, passingMax)) {
    const { status, text } = await read(await send(value))
    expect(status, `${name}=${value}: ${text}`).to.equal(200)
  }
  const stopped = probes
    .filter(({ value }) => !isText || typeof value === 'string')
    .map(({ value }) => String(value))
  for (const value of stopped.filter((one) => !passing.has(one))) {
    const { status, error, text } = await read(await send(value))
    expect({ status, ...error }, `${name}=${value}: ${text}`).to.include({
      status: 400,
      param: name,
    })
    expect(errors[400]!.codes).to.include(error.code)
  }
}

/** Reads an answer and checks the form of its error, if any. */
export async function read(response: Response) {
  const { status, headers } = response
  const text = await response.text()
  expect(headers.get('x-request-id')).to.match(/^req_/)
  if (status < 400) return { status, text, error: {} as ErrorBody }
  const error = errorIn(text)
  if (status === 400) expect(error.type).to.equal(errors[400]!.type)
  return { status, text, error }
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 300)
}
