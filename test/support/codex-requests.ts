/** The first request of Codex to a newer model: all tools are in an item. */
export const codex = (model: string) => ({
  model,
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  parallel_tool_calls: false,
  tool_choice: 'auto',
  reasoning: { effort: 'low', context: 'all_turns' },
  text: { verbosity: 'low' },
  prompt_cache_key: '0b1c',
  client_metadata: { turn_id: '7f' },
  input: [
    {
      type: 'additional_tools',
      id: 'at_1',
      role: 'developer',
      tools: [
        {
          type: 'namespace',
          name: 'functions',
          description: '',
          tools: [
            {
              type: 'custom',
              name: 'run',
              description: 'Runs a script.',
              format: { type: 'grammar', syntax: 'lark', definition: 'start: LINE+' },
            },
            {
              type: 'function',
              name: 'wait',
              description: 'Waits.',
              strict: false,
              parameters: { type: 'object', properties: {} },
            },
          ],
        },
      ],
    },
    {
      type: 'message',
      id: 'msg_a',
      role: 'developer',
      content: [{ type: 'input_text', text: 'You help with boats.' }],
    },
    {
      type: 'message',
      id: 'msg_b',
      role: 'user',
      content: [{ type: 'input_text', text: 'List the boats.' }],
    },
  ],
})
/** The same of an older or unknown model. */
export const olderCodex = (model: string) => ({
  ...codex(model),
  tools: [
    { type: 'function', name: 'wait', strict: false, parameters: { type: 'object' } },
    {
      type: 'namespace',
      name: 'functions',
      description: '',
      tools: [{ type: 'function', name: 'run', strict: false, parameters: { type: 'object' } }],
    },
    { type: 'web_search', external_web_access: false },
  ],
  input: codex(model).input.slice(1),
})
