/** Former settings of `limits`, and what holds in their place since version 0.1. */
export const removedSettings: Readonly<Record<string, string>> = {
  slow_peer_grace_ms: 'a peer may pause for 2 seconds when memory is short',
  request_idle_timeout_ms: "a request's body may pause for 30 seconds",
  request_values_max: 'a JSON body has at most 250,000 values',
  headers_timeout_ms: "a request's headers may take 30 seconds",
  answer_timeout_ms: 'a caller that takes nothing of an answer for a minute is cut',
  connections_max: 'there are as many connections as the limit of open files allows, up to 16,384',
  connections_waiting_max: '4096 connections wait',
  pipelined_requests_max: '16 requests wait on a connection',
  linger_timeout_ms: 'the rest of a refused request is read for 2 seconds',
  oauth_request_bytes_max: 'a request to an OAuth endpoint has at most 64 KiB',
}
