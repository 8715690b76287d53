/**
 * The measured process: `direct` is the mock upstream itself, `koa` a minimal Koa server, `bare` and `booked` the
 * core without and with identification, limits and ledger, `base` the gateway of another checkout. The others are
 * this gateway: `tuned` with a container's variables, `http` over its HTTP API instead of the tool server, `openai`
 * with an OpenAI-like upstream instead of another format, `quiet` without concurrent usage reports, `limited` with
 * all limits and a budget, `token` with an access token instead of a key, `shared` with PostgreSQL and Redis, `far`
 * with its cache in Redis alone, `workers` in two processes on both cores, `replica` in one process with Redis and half the
 * connections.
 */
export type Candidate =
  | 'floor'
  | 'gateway'
  | 'tuned'
  | 'direct'
  | 'koa'
  | 'http'
  | 'openai'
  | 'quiet'
  | 'limited'
  | 'token'
  | 'shared'
  | 'far'
  | 'workers'
  | 'replica'
  | 'bare'
  | 'booked'
  | 'base'
