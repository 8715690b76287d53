import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages'

/** The SDK's type, and the sampling fields of the pinned version 2023-06-01 that it lacks. */
export type WireRequest = MessageCreateParamsBase & { temperature?: number; top_p?: number }
