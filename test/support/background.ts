import type OpenAI from 'openai'
import { completion } from './chat-answers.ts'
import { openAiClient } from './openai-client.ts'
import type { TestGateway } from './gateway.ts'
import type { OwnEndpoint } from './own-endpoint.ts'
import type { Stored } from './stored-responses.ts'
import { until } from './until.ts'

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming

export const houseModel = 'own/house-1'
export const uncached = { cache_ttl_seconds: 0 }

/** Starts a response in the background with OpenAI's client. */
export function startBackground(
  gateway: TestGateway,
  body: Partial<Create> = {},
  key = gateway.liveKey,
): Promise<OpenAI.Responses.Response> {
  const asked = { model: houseModel, input: 'One.', background: true, ...body }
  return openAiClient(gateway, key).responses.create(asked)
}

/** Polls a response until it has ended. */
export async function ended(gateway: TestGateway, id: string, key = gateway.liveKey) {
  const { responses } = openAiClient(gateway, key)
  let response = await responses.retrieve(id)
  await until('the response has ended', async () => {
    response = await responses.retrieve(id)
    return response.status !== 'in_progress'
  })
  // The contract has members that OpenAI's client does not know.
  return response as Stored
}

export function cancel(gateway: TestGateway, id: string, key = gateway.liveKey): Promise<Response> {
  return gateway.fetch(`/v1/responses/${id}/cancel`, { method: 'POST', key })
}

/** The provider answers when the returned function is called. */
export function held({ upstream }: OwnEndpoint, answer = completion('Hello.')): () => void {
  const gate = Promise.withResolvers<void>()
  upstream.answer({ ...answer, after: gate.promise })
  return () => gate.resolve()
}

/** A response without what differs between two calls. */
export function comparable(response: Stored): object {
  const { output_text: _text, ...printed } = response
  const fixed = JSON.stringify({ ...printed, created_at: 0, completed_at: 0 })
  return JSON.parse(fixed.replaceAll(/_[0-9a-f]{32}/g, '_')) as object
}
