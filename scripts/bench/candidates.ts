/**
 * The measured process.
 * - `floor`: a minimal proxy; `direct`: the mock upstream itself; `koa`: a minimal Koa server
 * - `bare`: the core without identification, limits and ledger; `booked`: the core with them
 * - `base`: the gateway of another checkout; `gateway`: this gateway
 *
 * The others are this gateway with one difference.
 * - `http`: requests to `/v1/chat/completions` or the images API instead of the measured API
 * - `openai`: an OpenAI-compatible vendor instead of a vendor with another format
 * - `quiet`: no concurrent usage reports
 * - `limited`: all limits and a budget
 * - `token`: an access token instead of a key
 * - `shared`: PostgreSQL and Redis; `far`: Redis, and no cache in the memory of the process
 * - `workers`: two workers on both cores; `replicas`: two gateways with Redis and a store of their own on both cores
 */
export type Candidate =
  | 'floor'
  | 'gateway'
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
  | 'replicas'
  | 'bare'
  | 'booked'
  | 'base'
