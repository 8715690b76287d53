const dark = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

// Plugins of Swagger UI. Each wrapper takes a component of Swagger UI and returns one in its place.

/** Swagger UI's layout without the list of servers, which has one entry, and with every part in a landmark. */
function shortLayout({ React: { createElement: element } }) {
  function Layout({ getComponent, specSelectors }) {
    const Part = (name) => element(getComponent(name, true))
    if (specSelectors.loadingStatus() !== 'success') {
      return element('main', { className: 'swagger-ui wrapper' }, Part('errors'))
    }
    return element(
      'div',
      { className: 'swagger-ui' },
      Part('SvgAssets'),
      element(
        'header',
        { className: 'wrapper' },
        Part('InfoContainer'),
        Part('AuthorizeBtnContainer'),
      ),
      element('main', { className: 'wrapper' }, Part('errors'), Part('operations'), Part('Models')),
    )
  }
  return { components: { Layout } }
}

/** Folds long parts: sections of the description, headers, and responses except the first success. */
function fold({ React: { createElement: element, Fragment, useState } }) {
  const folded = (key, summary, content) =>
    element('details', { key }, element('summary', null, summary), content)

  const foldDescription = (Info) => (props) => {
    const Markdown = props.getComponent('Markdown', true)
    const description = props.specSelectors.selectInfoDescriptionField()
    const [start, ...sections] = description.split(/^## /m)
    const specSelectors = { ...props.specSelectors, selectInfoDescriptionField: () => start }
    const details = sections.map((section) => {
      const [title, ...lines] = section.split('\n')
      const text = element(Markdown, { source: lines.join('\n') })
      return folded(title, element('h2', null, title), text)
    })
    return element(Fragment, null, element(Info, { ...props, specSelectors }), details)
  }

  const foldHeaders = (Headers) => (props) => {
    const count = props.headers.size
    return count > 0 && folded('headers', `Headers (${count})`, element(Headers, props))
  }

  // A response is a table row, which `details` cannot contain.
  const foldResponse = (Response) => (props) => {
    const [isOpen, setOpen] = useState(props.isDefault)
    const { code, className, response } = props
    const label = `Response ${code}`
    const onClick = () => setOpen(!isOpen)
    const description = element(props.getComponent('Markdown', true), {
      source: response.get('description'),
    })
    const summary = element(
      'tr',
      { className: `response-summary ${className}` },
      element(
        'td',
        { className: 'response-col_status' },
        element('button', { 'aria-expanded': isOpen, 'aria-label': label, onClick }, code),
      ),
      element('td', { className: 'response-col_description' }, description),
    )
    return element(Fragment, null, summary, isOpen && element(Response, props))
  }

  return {
    wrapComponents: { OAS31Info: foldDescription, headers: foldHeaders, response: foldResponse },
  }
}

/** Adds the names, roles and focus that assistive technology and the keyboard need. */
function accessible({ React: { createElement: element } }) {
  /** Changes elements after each rendering of a component that has no property for the change. */
  const change = (apply) => (Component) => (props) => {
    const ref = (box) => box && apply((selector) => box.querySelectorAll(selector), props)
    return element('div', { ref }, element(Component, props))
  }
  const named = (nameOf) =>
    change((find, props) => {
      for (const field of find('select, textarea, input')) field.ariaLabel = nameOf(props)
    })
  const scrollable = change((find) => {
    for (const box of find('pre')) box.tabIndex = 0
  })
  const popup = change((find) => {
    for (const button of find('.close-modal')) button.ariaLabel = 'Close'
    // Their labels differ from their visible texts.
    for (const button of find('.modal-btn')) button.ariaLabel = null
    for (const heading of find('h6')) heading.ariaLevel = '5'
  })
  // As a nameless region, the table would not be read as a table.
  const table = change((find) => {
    for (const region of find('.responses-table')) region.role = null
  })
  // Assistive technology ignores links in buttons.
  const withoutLink = (Path) => (props) => {
    const operationProps = props.operationProps.set('isDeepLinkingEnabled', false)
    return element(Path, { ...props, operationProps })
  }
  return {
    wrapComponents: {
      OperationSummaryPath: withoutLink,
      HighlightCode: scrollable,
      curl: scrollable,
      responses: table,
      ExamplesSelect: named(() => 'Example'),
      RequestBodyEditor: named(() => 'Request body'),
      JsonSchemaForm: named(({ description }) => description),
      authorizationPopup: popup,
    },
  }
}

/** Leaves optional parameters empty; Swagger UI sends their examples, such as the same Idempotency-Key each time. */
function emptyOptions() {
  const parameterWithMetaByIdentity = (original) => (state, path, parameter) => {
    const known = original(state, path, parameter)
    return parameter.get('required') ? known : known?.delete('example')
  }
  return { statePlugins: { spec: { wrapSelectors: { parameterWithMetaByIdentity } } } }
}

/** Shows the images of a JSON response above its text. */
function pictures({ React: { createElement: element, Fragment } }) {
  const responseBody = (Body) => (props) => {
    const images = imagesIn(props).map((src, index) =>
      element('img', { key: index, src, alt: `Image ${index + 1} of the response` }),
    )
    return element(Fragment, null, images, element(Body, props))
  }
  return { wrapComponents: { responseBody } }
}

/** The data URLs of the images in a response of the images API or of a chat. */
function imagesIn({ content, contentType }) {
  if (!/json/.test(contentType)) return []
  const found = []
  const collect = (name, value) => {
    if (typeof value !== 'string') return value
    if (name === 'b64_json' || value.startsWith('data:image/')) found.push(value)
    return value
  }
  try {
    const { output_format: format = 'png' } = JSON.parse(content, collect)
    return found.map((value) =>
      value.startsWith('data:')
        ? value
        : `data:image/${format === 'svg' ? 'svg+xml' : format};base64,${value}`,
    )
  } catch {
    // Swagger UI shows the text with a note that it is not JSON.
    return []
  }
}

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  layout: 'Layout',
  plugins: [shortLayout, fold, accessible, emptyOptions, pictures],
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { theme: 'tomorrow-night' },
})
