const reasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** Why an answer ended, in OpenAI's words (providers.md section 6.4). */
export function finishReasonOf(reason: string | null | undefined): string {
  return reasons[reason ?? ''] ?? 'stop'
}
