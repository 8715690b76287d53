import { pdf } from './chat-wire.ts'
import { pixel } from './pixel.ts'

const parameters = { type: 'object', properties: {} }
/** The files that a tool returns. */
const files = { picture: pixel, document: pdf, broken: 'data:image/png;base64,aGVsbG8=' }

type Body = Record<string, unknown>
type File = keyof typeof files

/** Requests with the result of a tool that has a text and a file, by API, with the parameter of the file. */
export const resultRequests: Record<
  string,
  { path: string; param: string; body: (file: File) => Body }
> = {
  chat: {
    path: '/v1/chat/completions',
    param: 'messages[2].content[1]',
    body: (file) => ({
      messages: [
        { role: 'user', content: 'Read it.' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'Read', arguments: '{}' } }],
        },
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: [
            { type: 'text', text: 'The file:' },
            file === 'document'
              ? { type: 'file', file: { file_data: pdf, filename: 'a.pdf' } }
              : { type: 'image_url', image_url: { url: files[file] } },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'Read', parameters } }],
    }),
  },
  responses: {
    path: '/v1/responses',
    param: 'input[2].output[1]',
    body: (file) => ({
      input: [
        { role: 'user', content: 'Read it.' },
        { type: 'function_call', call_id: 'c1', name: 'Read', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [
            { type: 'input_text', text: 'The file:' },
            file === 'document'
              ? { type: 'input_file', file_data: pdf, filename: 'a.pdf' }
              : { type: 'input_image', image_url: files[file] },
          ],
        },
      ],
      tools: [{ type: 'function', name: 'Read', parameters }],
    }),
  },
  messages: {
    path: '/v1/messages',
    param: 'messages[2].content[0]',
    body: (file) => ({
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'Read it.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'Read', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              content: [
                { type: 'text', text: 'The file:' },
                file === 'document'
                  ? {
                      type: 'document',
                      source: {
                        type: 'base64',
                        media_type: 'application/pdf',
                        data: pdf.split(',')[1],
                      },
                    }
                  : {
                      type: 'image',
                      source: {
                        type: 'base64',
                        media_type: 'image/png',
                        data: files[file].split(',')[1],
                      },
                    },
              ],
            },
          ],
        },
      ],
      tools: [{ name: 'Read', input_schema: parameters }],
    }),
  },
}
