import { textLengths } from '../../../../generated/client-values.ts'
import { bodyOf, GET, PUT } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct, useLoad } from '../../data/load.ts'
import { Failure } from '../../elements/failure.tsx'
import { Field } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'
import { Time } from '../../elements/time.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'

const example = `providers:
  - id: local
    kind: openai-compatible
    base_url: https://example.com/v1
    models: '*'
aliases:
  house: local/our-model
routes:
  gpt-5.4-mini: [openai, openrouter]
catalog:
  local/our-model:
    pricing: { input_per_million_tokens: 0.5, output_per_million_tokens: 2 }
`
const rows = 14

/** Endpoints, routes, aliases and prices that operators store, as YAML. */
export function StoredSettings({ onDone }: { onDone: (said: string) => void }) {
  const settings = useLoad('stored settings', (signal) => bodyOf(GET('/api/settings', { signal })))
  const storing = useAct(async (content: string) => {
    await bodyOf(PUT('/api/settings', { body: { content } }))
    settings.again()
    onDone('The settings are stored, and calls use them.')
  })
  return (
    <section class="card stored-settings" aria-labelledby="stored-settings">
      <h2 id="stored-settings">Endpoints, routes and aliases</h2>
      <p>
        The members <code>providers</code>, <code>routes</code>, <code>aliases</code> and{' '}
        <code>catalog</code> of <code>gateway.yaml</code>, without the file. Entries of the file
        take precedence. Keys of an endpoint are added in its card above.
      </p>
      <WhenLoaded loaded={settings} what="Loading the stored settings">
        {({ content, updated_at: updatedAt }) => (
          <Form send={(filled) => storing.run(textsOf(filled)['content'] ?? '')}>
            <Field
              label="Settings as YAML"
              hint={
                updatedAt === null ? (
                  'Nothing is stored yet.'
                ) : (
                  <>
                    Stored <Time at={updatedAt} />.
                  </>
                )
              }
              fault={storing.error?.code === 'invalid_value' ? storing.error.message : undefined}
            >
              {(attributes) => (
                <textarea
                  {...attributes}
                  name="content"
                  rows={rows}
                  spellcheck={false}
                  maxLength={textLengths.StoredSettingsText.max}
                  placeholder={example}
                  defaultValue={content}
                />
              )}
            </Field>
            {storing.error?.code !== 'invalid_value' && <Failure error={storing.error} />}
            <p class="row">
              <button type="submit" disabled={storing.isBusy}>
                {storing.isBusy ? 'Saving…' : 'Save the settings'}
              </button>
            </p>
          </Form>
        )}
      </WhenLoaded>
    </section>
  )
}
