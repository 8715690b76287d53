/**
 * Who answers: `direct` is the mock itself, `tuned` the gateway with a container's variables, `koa` a bare Koa,
 * `http` the gateway asked over its HTTP API where the others use the tool server, `openai` the gateway before an
 * upstream like OpenAI's where the others translate from another wire, `quiet` the gateway of which nobody asks a
 * report meanwhile, `limited` the gateway whose caller has every limit and a budget, `token` the gateway whose
 * caller has an access token instead of a key, `shared` the gateway with its store in PostgreSQL and Redis for the
 * rest, `far` the gateway that remembers in Redis alone, `workers` the gateway in two processes on both cores,
 * `bare` and `booked` the core without and with all that is kept of a call, `base` the gateway of another checkout.
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
  | 'bare'
  | 'booked'
  | 'base'
