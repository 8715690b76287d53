import {
  describeWire,
  hello,
  note,
  pdf,
  refusing,
  showing,
  shownInstructions,
  type WireRow,
} from '../../support/chat-wire.ts'
import { pixel } from '../../support/pixel.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const image = (url: string) => showing({ type: 'image_url', image_url: { url } })

const rows: WireRow[] = [
  {
    name: 'sends Anthropic the instructions separately, and alternating turns',
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        { role: 'system', content: 'One.' },
        { role: 'user', content: 'Hi' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'there' },
          ],
        },
        { role: 'developer', content: 'Two.' },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'No.', name: 'Ada' },
      ],
    },
    wire: {
      'system.1.text': 'Two.',
      'messages.0.content.length': 2,
      'messages.1.role': 'assistant',
      'messages.2.content.0.text': 'No.',
    },
    warned: ['messages[3]', 'messages[5].name'],
  },
  {
    name: 'sends Anthropic calls and results as blocks',
    model: 'claude-sonnet-4-6',
    request: {
      tools: [tool],
      tool_choice: 'required',
      parallel_tool_calls: false,
      messages: [
        ...hello,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'look', arguments: '' } },
            { id: 'b', type: 'function', function: { name: 'look', arguments: '{"x":1}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'B' }] },
        { role: 'user', content: 'And?' },
      ],
    },
    wire: {
      'messages.1.content.1.input.x': 1,
      'messages.2.content.1.tool_use_id': 'b',
      'messages.2.content.2.text': 'And?',
      'tool_choice.type': 'any',
      'tool_choice.disable_parallel_tool_use': true,
      'tools.0.input_schema.type': 'object',
    },
  },
  {
    name: 'does not send Anthropic thoughts of other vendors',
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        ...hello,
        {
          role: 'assistant',
          tool_calls: [
            {
              id: 'a',
              type: 'function',
              function: { name: 'look', arguments: '{}' },
              extra_content: { anthropic: { thinking_blocks: [{ type: 'text', text: 'Hm.' }] } },
            },
          ],
        },
      ],
    },
    refused: ['messages[1].tool_calls[0].extra_content.anthropic.thinking_blocks'],
  },
  ...['claude-opus-5-5', 'claude-sonnet-5-5'].map((model): WireRow => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }
    const anthropic = { model: 'claude-opus-5-5', thinking_blocks: [thinking] }
    const look = { name: 'look', arguments: '{}' }
    const call = {
      id: 'a',
      type: 'function' as const,
      function: look,
      extra_content: { anthropic },
    }
    return {
      name: `returns thoughts only to the model that produced them: ${model}`,
      model,
      request: {
        messages: [
          ...hello,
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'a', content: 'A' },
        ],
      },
      wire: { 'messages.1.content.0.type': model === anthropic.model ? 'thinking' : 'tool_use' },
    }
  }),
  {
    name: 'refuses calls whose arguments are not an object',
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        ...hello,
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '[1' } }],
        },
      ],
    },
    refused: ['messages[1].tool_calls[0].function.arguments'],
  },
  {
    name: "converts ids of other vendors' calls for Anthropic",
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        ...hello,
        {
          role: 'assistant',
          tool_calls: [
            { id: 'functions.look:0', type: 'function', function: { name: 'look', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'functions.look:0', content: 'A' },
      ],
    },
  },
  {
    name: 'sends Anthropic images by URL and as base64',
    model: 'claude-sonnet-4-6',
    request: { messages: [...image('https://example.com/a.png'), ...image(pixel)] },
    wire: {
      'messages.0.content.0.source.type': 'url',
      'messages.0.content.1.source.media_type': 'image/png',
    },
  },
  {
    name: 'does not send Anthropic images that it cannot read',
    model: 'claude-sonnet-4-6',
    request: { messages: image('data:image/tiff;base64,AAAA') },
    refused: ['messages[0].content[0].image_url.url'],
  },
  {
    name: 'sends Anthropic a refusal as text',
    model: 'claude-sonnet-4-6',
    request: { messages: refusing },
    wire: { 'messages.1.content.0.text': 'No.', 'messages.3.content.0.text': 'Never.' },
  },
  {
    name: 'does not send Anthropic instructions with images',
    model: 'claude-sonnet-4-6',
    request: { messages: shownInstructions },
    refused: ['messages[1].content[0]'],
  },
  {
    name: 'sends Anthropic a PDF unchanged, and a text decoded',
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        ...showing({ type: 'file', file: { file_data: pdf, filename: 'a.pdf' } }),
        ...showing({ type: 'file', file: { file_data: note } }),
      ],
    },
    wire: {
      'messages.0.content.0.type': 'document',
      'messages.0.content.0.title': 'a.pdf',
      'messages.0.content.0.source.media_type': 'application/pdf',
      'messages.0.content.0.source.data': 'JVBERi0xLjcK',
      'messages.0.content.1.source.type': 'text',
      'messages.0.content.1.source.data': 'a,ä\n',
    },
  },
  {
    name: 'does not send Anthropic files and audio that it does not accept',
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        ...showing({ type: 'file', file: { file_data: 'data:video/mp4;base64,AAAA' } }),
        ...showing({ type: 'file', file: { file_id: 'file-1' } }),
        ...showing({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
        { role: 'assistant', content: [{ type: 'image_url', image_url: { url: pixel } }] },
      ],
    },
    refused: [
      'messages[0].content[0].file.file_data',
      'messages[1].content[0].file.file_data',
      'messages[2].content[0]',
      'messages[3].content[0]',
    ],
  },
  {
    name: 'sends Anthropic instructions alone as a user message',
    model: 'claude-sonnet-4-6',
    request: { messages: [{ role: 'system', content: 'Write a haiku.' }] },
    wire: { system: undefined, 'messages.0.content.0.text': 'Write a haiku.' },
    warned: ['messages'],
  },
  {
    name: 'begins with a user message for Anthropic, and omits texts of white space',
    model: 'claude-sonnet-4-6',
    request: {
      messages: [
        { role: 'system', content: '\n' },
        { role: 'assistant', content: 'How can I help?' },
        {
          role: 'user',
          content: [
            { type: 'text', text: ' ' },
            { type: 'text', text: 'Sing.' },
          ],
        },
        { role: 'assistant', content: ' ' },
        ...hello,
      ],
    },
    wire: {
      system: undefined,
      'messages.length': 3,
      'messages.0.content.0.text': '.',
      'messages.1.content.0.text': 'How can I help?',
      'messages.2.content.length': 2,
    },
    warned: ['messages[1]'],
  },
]

describe('a conversation with Anthropic', () => describeWire(rows))
