/** A vendor under the name its users know: where it is, and which variables configure it. */
export type Vendor = {
  id: string
  name: string
  /** The first that is set holds the key, or several separated by commas. */
  keyVariables: readonly string[]
  baseUrlVariable: string
  baseUrl: string
  /** Where it lists its models: asking costs nothing, and shows whether the key is good. */
  modelsPath: string
  /** The header of the key, when it is not a bearer token. */
  keyHeader?: string
  /** The catalog lists none of its models: any is passed on. */
  anyModel?: true
}

const vendor = (id: string, name: string, baseUrl: string): Vendor => ({
  id,
  name,
  keyVariables: [`${id.toUpperCase()}_API_KEY`],
  baseUrlVariable: `${id.toUpperCase()}_BASE_URL`,
  baseUrl,
  modelsPath: '/models',
})

/** The vendors that a variable alone configures (behaviour.md section 10, providers.md). */
export const vendors: readonly Vendor[] = [
  {
    id: 'google',
    name: 'Google Gemini',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrlVariable: 'GEMINI_BASE_URL',
    baseUrl: 'https://generativelanguage.googleapis.com',
    modelsPath: '/v1beta/models',
    keyHeader: 'x-goog-api-key',
  },
  {
    id: 'alibaba',
    name: 'Alibaba Cloud Model Studio',
    keyVariables: ['DASHSCOPE_API_KEY'],
    baseUrlVariable: 'DASHSCOPE_BASE_URL',
    baseUrl: 'https://dashscope-intl.aliyuncs.com',
    modelsPath: '/compatible-mode/v1/models',
  },
  vendor('zai', 'Z.AI', 'https://api.z.ai/api/paas/v4'),
  {
    ...vendor('bytedance', 'BytePlus ModelArk', 'https://ark.ap-southeast.bytepluses.com/api/v3'),
    keyVariables: ['ARK_API_KEY'],
    baseUrlVariable: 'ARK_BASE_URL',
  },
  vendor('openai', 'OpenAI', 'https://api.openai.com/v1'),
  {
    ...vendor('anthropic', 'Anthropic', 'https://api.anthropic.com'),
    modelsPath: '/v1/models',
    keyHeader: 'x-api-key',
  },
  vendor('mistral', 'Mistral', 'https://api.mistral.ai/v1'),
  vendor('deepseek', 'DeepSeek', 'https://api.deepseek.com'),
  vendor('groq', 'Groq', 'https://api.groq.com/openai/v1'),
  vendor('xai', 'xAI', 'https://api.x.ai/v1'),
  { ...vendor('together', 'Together', 'https://api.together.xyz/v1'), anyModel: true },
  { ...vendor('openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1'), anyModel: true },
  { ...vendor('moonshot', 'Moonshot', 'https://api.moonshot.ai/v1'), anyModel: true },
]
