import type { Schemas } from '../../data/api.ts'
import { curlOf } from '../../data/curl.ts'

type Asked = Pick<Schemas['RequestRecord'], 'modality' | 'asked_model'>

/** Placeholder for the prompt, which the gateway does not store. */
const placeholder = 'YOUR PROMPT: the gateway does not store it'

const calls: Record<Asked['modality'], (model: string) => [path: string, body: object]> = {
  chat: (model) => [
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: placeholder }] },
  ],
  image: (model) => ['/v1/images/generations', { model, prompt: placeholder }],
  moderation: (model) => ['/v1/moderations', { model, input: placeholder }],
  embedding: (model) => ['/v1/embeddings', { model, input: placeholder }],
}

/** A curl command that repeats the call at this gateway with a placeholder prompt. */
export function replayAsCurl({ modality, asked_model: model }: Asked, origin: string): string {
  const [path, body] = calls[modality](model)
  return curlOf(`${origin}${path}`, JSON.stringify(body, null, 2))
}
