import type { Answer } from '../http/answer.ts'

/** The response with a secret that is shown once, and that no cache may store. */
export function createdSecret(json: object): Answer {
  return { status: 201, headers: { 'cache-control': 'no-store' }, json }
}

/** The response with a result. */
export function ok(json: object): Answer {
  return { status: 200, json }
}
