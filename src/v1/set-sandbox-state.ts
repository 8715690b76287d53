import { bodyChecks } from '../../generated/checks.js'
import type { components } from '../../generated/types.ts'
import { GatewayError } from '../core/error.ts'
import { makesEmbeddings, makesImages, type Catalog } from '../core/model.ts'
import type { ProviderStates, StateKey } from '../core/provider-states.ts'
import { assertValid } from '../http/check-error.ts'
import type { Operation, OperationCall } from '../http/operation.ts'
import { jobIdOf } from './image-jobs/run-job.ts'

type State = components['schemas']['SandboxState']
type StateName = components['schemas']['SandboxStateName']
type Call = OperationCall<'setSandboxState'>

type Parts = {
  providerStates: Pick<ProviderStates, 'setUp' | 'tearDown'>
  catalog: Pick<Catalog, 'find' | 'list'>
}
/** The operations whose results some states have. */
type Makers = {
  createImage: Operation<'createImage'>
  createResponse: Operation<'createResponse'>
}

/** POST /v1/sandbox/states (docs/provider-states.md). */
export function setSandboxState(parts: Parts, makers: Makers): Operation<'setSandboxState'> {
  return async (call) => {
    const { body, caller } = call
    const { action, state, params = {} } = body
    if (caller.mode !== 'test') {
      const text = 'Provider states are those of the sandbox. Send a test key (mag_test_…).'
      throw new GatewayError('insufficient_scope', text, { param: 'authorization' })
    }
    if (caller.played !== undefined) {
      const text =
        'This key is that of a provider state. Set up states with a test key that is not.'
      throw new GatewayError('insufficient_scope', text, { param: 'authorization' })
    }
    if (action === 'teardown') {
      await parts.providerStates.tearDown(caller, { id: params.id, key: params.api_key })
      return { status: 200, json: { object: 'sandbox_state', state } satisfies State }
    }
    const made = await parts.providerStates.setUp(caller, state)
    const { providerStates } = parts
    const more = await results[state]?.({ call, made, parts, makers })?.catch(
      async (error: unknown) => {
        await providerStates.tearDown(caller, { id: made.id })
        throw error
      },
    )
    const json: State = {
      object: 'sandbox_state',
      state,
      id: made.id,
      api_key: made.key,
      expires_at: new Date(made.expiresAt).toISOString(),
      ...more,
    }
    return { status: 200, json }
  }
}

type Made = { call: Call; made: StateKey; parts: Parts; makers: Makers }
type Result = Partial<State>

/** What a state has besides its key. */
const results: Partial<Record<StateName, (made: Made) => Promise<Result>>> = {
  'a deactivated model': async ({ parts }) => ({ model: deactivatedIn(parts.catalog) }),
  'a stored response': async ({ call, made, parts, makers }) => {
    const model = call.body.params?.model ?? languageModelIn(parts.catalog)
    const body = { model, input: 'Say hello.' }
    assertValid(bodyChecks.createResponse, body)
    await makers.createResponse({ ...call, caller: made.caller!, body })
    return { model, response_id: `resp_${call.requestId.slice(call.requestId.indexOf('_') + 1)}` }
  },
  'a completed image job': async ({ call, made, makers }) => {
    const { model } = call.body.params ?? {}
    const body = { prompt: 'A lighthouse in a storm', ...(model === undefined ? {} : { model }) }
    assertValid(bodyChecks.createImage, body)
    const options = { prefer: 'respond-async, wait=60' }
    const answer = await makers.createImage({ ...call, caller: made.caller!, body, options })
    if (answer.status !== 200 || answer.headers?.['location'] === undefined) throw noJob()
    return { job_id: jobIdOf(call.requestId) }
  },
}

function noJob(): GatewayError {
  const text =
    'The image job did not complete within a minute, or its pictures cannot be stored now.'
  return new GatewayError('overloaded', `${text} Try again in a moment.`, { retryAfterSeconds: 5 })
}

function languageModelIn(catalog: Parts['catalog']): string {
  const { models } = catalog.list(
    { excludeDeprecated: true },
    (model) => !makesImages(model) && !makesEmbeddings(model),
  )
  return models[0]!.row.id
}

/** A model that a call with its name is refused for. */
function deactivatedIn({ find, list }: Parts['catalog']): string {
  const { models } = list({ includeDeactivated: true }, ({ row }) => row.status === 'deactivated')
  const refused = models.find(({ row }) => {
    try {
      find(row.id)
      return false
    } catch {
      return true
    }
  })
  if (refused !== undefined) return refused.row.id
  throw new GatewayError('not_found', 'The catalog has no deactivated model.', { param: 'state' })
}
