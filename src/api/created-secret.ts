import type { Answer } from '../http/answer.ts'

/** The answer with a secret that is shown once, which no cache may store. */
export function createdSecret(json: object): Answer {
  return { status: 201, headers: { 'cache-control': 'no-store' }, json }
}
