import type { Line } from '../transport/open-line.ts'

type Wording = { code?: string; param?: string; retryAfterSeconds?: number | undefined }

/** Sends an error answer in OpenAI's format. */
export function refuse(line: Line, status: number, message: string, wording: Wording = {}): void {
  const { code = null, param = null, retryAfterSeconds = status === 429 ? 1 : undefined } = wording
  const seconds = String(retryAfterSeconds)
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': seconds }
  const error = { message, type: 'sandbox_error', param, code }
  line.json({ error }, false, status, headers)
}
