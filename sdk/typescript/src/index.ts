export { createClient, type Client, type Config } from './generated/client/index.js'
export * from './generated/index.js'
export { createImageEditByForm } from './create-image-edit-by-form.js'
export { GatewayError, streamChatCompletion } from './stream-chat-completion.js'
