/** The headers of an answer with a secret. */
export const notStored = { 'cache-control': 'no-store' }
