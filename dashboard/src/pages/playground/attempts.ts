import { useEffect, useRef, useState } from 'preact/hooks'
import type { Refusal, Schemas } from '../../data/api.ts'
import { toRefusal } from '../../data/load.ts'
import { call, newAttemptKey, type Mode } from './calling.ts'
import { blobOf, keep, type MadePicture } from './gallery-store.ts'
import type { Request } from './image-request.ts'

/** A call to one image model, and its state. */
export type Attempt = {
  model: string
  prompt: string
  request: Request
  mode: Mode
  idempotencyKey: string
  startedAtMs: number
} & (
  | { state: 'running'; cancel: () => void }
  | { state: 'cancelled' }
  | { state: 'failed'; error: Refusal }
  | { state: 'made'; made: Made }
)

export type Made = {
  durationMs: number
  /** Cost in dollars; null when the cost is unknown. */
  costUsd: string | null
  cache: string | null
  requestId: string | undefined
  pictures: readonly MadePicture[]
  text: string | undefined
}

export type Wanted = Pick<Attempt, 'model' | 'prompt' | 'request' | 'mode'>

/** Duration of each model's last call in this visit, in milliseconds. */
const durations = new Map<string, number>()
export const usualMsOf = (model: string): number | undefined => durations.get(model)

/** Calls to the chosen models, shown side by side. */
export function useAttempts() {
  const [attempts, setAttempts] = useState<readonly Attempt[]>([])
  const running = useRef(new Set<AbortController>())
  useEffect(() => () => running.current.forEach((one) => one.abort()), [])
  const begin = (index: number, wanted: Wanted, idempotencyKey: string): void => {
    const controller = new AbortController()
    running.current.add(controller)
    const { model, prompt, request, mode } = wanted
    const base = { model, prompt, request, mode, idempotencyKey, startedAtMs: Date.now() }
    const put = (attempt: Attempt) =>
      setAttempts((all) => {
        const changed = [...all]
        changed[index] = attempt
        return changed
      })
    put({ ...base, state: 'running', cancel: () => controller.abort() })
    void make(base, controller.signal)
      .then((made) => put({ ...base, state: 'made', made }))
      .catch((thrown: unknown) =>
        put(
          controller.signal.aborted
            ? { ...base, state: 'cancelled' }
            : { ...base, state: 'failed', error: toRefusal(thrown) },
        ),
      )
      .finally(() => running.current.delete(controller))
  }
  return {
    attempts,
    isRunning: attempts.some(({ state }) => state === 'running'),
    start: (wanted: readonly Wanted[]) => {
      setAttempts([])
      wanted.forEach((one, index) => begin(index, one, newAttemptKey()))
    },
    again: (index: number) => {
      const attempt = attempts[index]!
      const { idempotencyKey, ...wanted } = attempt
      begin(index, wanted, isOpen(attempt) ? idempotencyKey : newAttemptKey())
    },
  }
}

/**
 * Whether the outcome is unknown. A retry then sends the same idempotency key: the gateway answers with the
 * existing result, and charges it once. After a refusal, a retry is a new call.
 */
function isOpen(attempt: Attempt): boolean {
  if (attempt.state !== 'failed') return true
  const { status, code } = attempt.error
  return status === 0 || code === 'idempotency_key_in_use'
}

type Started = Wanted & { idempotencyKey: string; startedAtMs: number }

async function make(started: Started, signal: AbortSignal): Promise<Made> {
  const { request, mode, idempotencyKey, model, prompt, startedAtMs } = started
  const response = await call(request.path, request.body, { mode, signal, idempotencyKey })
  const { headers } = response
  const requestId = headers.get('x-request-id') ?? undefined
  const body = (await response.json()) as Answer
  const durationMs = Date.now() - startedAtMs
  durations.set(model, durationMs)
  const pictures = picturesIn(body).map((base64) => ({
    blob: blobOf(base64),
    prompt,
    model,
    requestId,
  }))
  return {
    durationMs,
    costUsd: headers.get('x-gateway-cost-usd'),
    cache: headers.get('x-gateway-cache'),
    requestId,
    pictures: keep(pictures),
    text: 'choices' in body ? (body.choices[0]?.message.content ?? undefined) : undefined,
  }
}

type Answer = Schemas['ImagesResponse'] | Schemas['ChatCompletion']

function picturesIn(body: Answer): string[] {
  // A vendor may add members to a completion, also `data`.
  if (!('choices' in body)) return body.data.map(({ b64_json: base64 }) => base64)
  const images = body.choices[0]?.message.images ?? []
  return images.map(({ image_url: { url } }) => url.slice(url.indexOf(',') + 1))
}
