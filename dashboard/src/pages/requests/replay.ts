import type { Schemas } from '../../data/api.ts'
import { curlOf } from '../../data/curl.ts'

type Asked = Pick<Schemas['RequestRecord'], 'modality' | 'asked_model'>

/** What stands for the prompt, which the gateway does not keep. */
const placeholder = 'YOUR PROMPT: the gateway does not store it'

/** A line that makes the same kind of call again, at this gateway. */
export function replayAsCurl({ modality, asked_model: model }: Asked, origin: string): string {
  const [path, body] =
    modality === 'image'
      ? ['/v1/images/generations', { model, prompt: placeholder }]
      : ['/v1/chat/completions', { model, messages: [{ role: 'user', content: placeholder }] }]
  return curlOf(`${origin}${path}`, JSON.stringify(body, null, 2))
}
