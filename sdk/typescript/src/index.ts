export {
  createClient,
  type Client,
  type ClientConfig,
  type Options,
  type StreamOptions,
} from './client.js'
export { createImageEditJob, createImageJob, type JobOrImages } from './create-image-job.js'
export type { EventStream } from './event-stream.js'
export { GatewayError } from './gateway-error.js'
export * from './generated/operations.js'
export type * from './generated/types.js'
