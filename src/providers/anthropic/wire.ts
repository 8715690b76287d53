import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages'

/** The sampling fields are of the pinned version 2023-06-01; newer clients no longer know them. */
export type WireRequest = MessageCreateParamsBase & { temperature?: number; top_p?: number }
