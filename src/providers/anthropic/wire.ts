import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages'

/** The SDK's type with two sampling fields of API version 2023-06-01 that the SDK no longer lists. */
export type WireRequest = MessageCreateParamsBase & { temperature?: number; top_p?: number }
